package page

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience bounds a whole test; nothing is expected to take it.
const patience = time.Minute

// tab is a tab of a real browser that tells what went wrong in it.
type tab struct {
	t   *testing.T
	ctx context.Context
	url string

	mu       sync.Mutex
	problems []string
}

// chromium finds the browser.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("chromium is missing: run ./test.sh, or install the package chromium")
	return ""
}

// open opens a tab on the page of a server, of the given size.
func open(t *testing.T, url string, width, height int) *tab {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.Headless, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.WindowSize(width, height), chromedp.Flag("disable-dev-shm-usage", true))
	t.Cleanup(cancel)
	origin, _, _ := strings.Cut(url, "/#")
	b := &tab{t: t, url: origin}
	b.ctx, cancel = chromedp.NewContext(ctx, chromedp.WithListener(b.listen))
	t.Cleanup(cancel)
	b.do(chromedp.Navigate(url))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, problem := range b.problems {
			t.Error(problem)
		}
	})
	return b
}

// listen collects errors of the console and requests to other hosts.
func (b *tab) listen(event any) {
	problem := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = "exception: " + e.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		if string(e.Type) == "error" {
			problem = fmt.Sprintf("console: %+v", e.Args)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.url) && !strings.HasPrefix(e.Request.URL, "data:") {
			problem = "a request to " + e.Request.URL
		}
	}
	if problem != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.problems = append(b.problems, problem)
	}
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// eval is what a script comes to.
func eval[T any](b *tab, script string, options ...chromedp.EvaluateOption) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, options...))
	if err != nil {
		b.t.Fatalf("%v: %.300s", err, script)
	}
	return value
}

// part shows a part of the page.
func (b *tab) part(name string) {
	b.t.Helper()
	b.do(chromedp.Click(`nav a[href="#`+name+`"]`), chromedp.WaitVisible("#"+name))
}

// text is what is to be read of an element; "" while the page loads.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return eval[string](b, "document.querySelector(`"+selector+"`)?.innerText ?? ''")
}

// until waits for an element to say so.
func (b *tab) until(selector string, parts ...string) {
	b.t.Helper()
	text := ""
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		text = b.text(selector)
		missing := ""
		for _, part := range parts {
			if !strings.Contains(text, part) {
				missing = part
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s does not come to say %q: %s", selector, missing, text)
		}
	}
}

// set fills a field in, as a person does.
func (b *tab) set(selector, value string) {
	b.t.Helper()
	field := "document.querySelector(`" + selector + "`)"
	eval[string](b, fmt.Sprintf("%s.value = %q", field, value))
	eval[bool](b, field+".dispatchEvent(new Event('input', {bubbles: true})) && "+field+".dispatchEvent(new Event('change', {bubbles: true}))")
}

func (b *tab) click(selector string) {
	b.t.Helper()
	b.do(chromedp.Click(selector))
}

// shot keeps a picture of the page in the folder that ARTIFACTS names, if any.
func (b *tab) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("ARTIFACTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
