package main

import (
	"net"
	"net/http"
	"testing"
	"time"
)

// The example serves, and the eleventh request at once is one too many.
func TestExample(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	go func() { t.Error(serve(addr, "")) }() // it never returns
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not listen")
		}
	}
	codes := map[int]int{}
	for range 12 {
		res, err := http.Get("http://" + addr + "/")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		codes[res.StatusCode]++
	}
	if codes[200] < 10 || codes[429] < 1 {
		t.Errorf("%v, want some 10 of 200 and the rest 429", codes)
	}
}
