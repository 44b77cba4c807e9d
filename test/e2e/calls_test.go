package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// call is a domain and the keys and values of one descriptor.
type call struct {
	domain  string
	entries []string
}

// verdict is what /json answers: the status, and the amount of the limit, 0 where
// there is none.
type verdict struct {
	status int
	amount uint32
}

// decide asks over /json.
func (s *rls) decide(t *testing.T, c call) verdict {
	t.Helper()
	type entry struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	var entries []entry
	for i := 0; i+1 < len(c.entries); i += 2 {
		entries = append(entries, entry{c.entries[i], c.entries[i+1]})
	}
	body, err := json.Marshal(map[string]any{"domain": c.domain, "descriptors": []any{map[string]any{"entries": entries}}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post("http://127.0.0.1:"+s.httpPort+"/json", "application/json", strings.NewReader(string(body)))
	if err != nil {
		return verdict{}
	}
	defer res.Body.Close()
	var answer struct {
		Statuses []struct {
			CurrentLimit struct {
				RequestsPerUnit uint32 `json:"requestsPerUnit"`
			} `json:"currentLimit"`
		} `json:"statuses"`
	}
	v := verdict{status: res.StatusCode}
	// A failure is answered in words.
	if err := json.NewDecoder(res.Body).Decode(&answer); err == nil && len(answer.Statuses) == 1 {
		v.amount = answer.Statuses[0].CurrentLimit.RequestsPerUnit
	}
	return v
}
