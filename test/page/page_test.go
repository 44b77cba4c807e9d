package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Live shows what a real Envoy asks for.
func TestLive(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := open(t, s.page, 1200, 900)
	b.until("#server", "ready", "memory:// answers")
	b.until("#live-rules", "No limit was met")
	url := startEnvoy(t, s)
	done := make(chan struct{})
	began := time.Now()
	go func() {
		defer close(done)
		for range 150 {
			req, err := http.NewRequest(http.MethodGet, url, nil)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("x-guest", "<b>eve</b>")
			if res, err := http.DefaultClient.Do(req); err == nil {
				res.Body.Close()
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	b.until("#live-rules", "shop/guest")
	t.Logf("what Envoy let through is shown after %v", time.Since(began))
	b.until("#live-hot", "guest=<b>eve</b>", "0 of 2")
	b.until("#live-denials", "guest=<b>eve</b>", "0 of 2 left")
	b.until("#totals", "denied a second")
	b.shot("live")
	b.click("#pause")
	<-done
	time.Sleep(time.Second)
	b.until("#live-hot", "guest=<b>eve</b>") // as it was
	b.click("#pause")
	b.until("#live-rules", "No limit was met")
}

// A burst turns from allowed to denied, and back after the time that was announced.
func TestTry(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := open(t, s.page+"/#try", 1200, 1000)
	b.do(chromedp.WaitReady(`#call option[value*="user="]`))
	b.set(`#call select[name="from"]`, `{"domain":"shop","line":"user=x"}`)
	b.set(`#call textarea`, "user=ann")
	b.click("#look")
	b.until("#verdict", "would be allowed", "3 of 3 left of per-user")
	b.click(`#call button[value="1"]`)
	b.until("#verdict", "allowed: 2 of 3 left of per-user")
	b.until("#headers", `x-ratelimit-limit: 3, 3;w=6;name="per-user"`, "x-ratelimit-remaining: 2")
	b.until("#why", "user=ann", "✓")
	b.until("#shell", "curl -s", "grpcurl", `"value":"ann"`)
	b.click("#ten")
	b.until("#verdict", "2 of 10 allowed", "denied by per-user")
	b.until("#headers", "429", "retry-after: ")
	b.shot("try")
	b.until("#verdict", "There is room again.")
	b.click(`#call button[value="1"]`)
	b.until("#verdict", "allowed: 0 of 3 left")
	b.click("#hold")
	b.until("#verdict", "denied by per-user")
	b.click("#hold")
	b.click("#free")
	b.until("#verdict", "as new")
	b.click("#look")
	b.until("#verdict", "3 of 3 left")
	b.set(`#call input[name="hits"]`, "2")
	b.click("#look")
	b.until("#verdict", "would be allowed")
	b.until("#shell", `"hitsAddend":2`)
	b.set(`#call input[name="domain"]`, "nowhere")
	b.click("#look")
	b.until("#why", "no rules have the domain nowhere")
	b.set(`#call input[name="domain"]`, "shop")
	b.set(`#call textarea`, "no pair")
	b.click("#look")
	b.until("#verdict", "key=value")
	b.set(`#call textarea`, "user=<img src=x onerror=alert(1)>")
	b.click("#look")
	b.until("#why", "<img src=x onerror=alert(1)>")
	if hash := eval[string](b, "location.hash"); !strings.HasPrefix(hash, "#try?domain=shop&descriptors=user") {
		t.Errorf("the address is %s", hash)
	}
}

// Fixed windows admit twice the amount at their edge, sliding ones do not.
func TestPlayground(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := open(t, s.page+"/#playground?amount=10&window=10&traffic=edge&rate=20", 1200, 1000)
	b.until("#compared", "fixed_window")
	b.until(`figure[data-algorithm="fixed_window"]`, "60 allowed")
	rows := eval[map[string]string](b, `Object.fromEntries([...document.querySelectorAll('#compared tbody tr')].map((r) => [r.cells[0].innerText, r.cells[3].innerText]))`)
	for name, want := range map[string]string{"fixed_window": "20", "sliding_window_log": "10", "sliding_window_counter": "10", "token_bucket": "10", "gcra": "10"} {
		if rows[name] != want {
			t.Errorf("%s admits %s in a window, want %s", name, rows[name], want)
		}
	}
	b.shot("playground")
	for _, traffic := range []string{"steady", "burst", "herd", "own"} {
		b.set(`#limit select[name="traffic"]`, traffic)
		b.do(chromedp.WaitReady(`figure[data-algorithm="gcra"]`))
	}
	b.until(`figure[data-algorithm="token_bucket"]`, "5 allowed, 0 denied") // of the five own times
	b.set(`#limit input[name="own"]`, "0, 1, 2")
	b.until(`figure[data-algorithm="token_bucket"]`, "3 allowed, 0 denied")
	b.set(`#limit input[name="burst"]`, "2")
	b.set(`#limit input[name="window"]`, "1000")
	b.until(`figure[data-algorithm="token_bucket"]`, "2 allowed, 1 denied")
	b.set(`#limit input[name="burst"]`, "0")
	b.set(`#limit input[name="window"]`, "10")
	b.set(`#limit input[name="duration"]`, "1")
	b.until("#playground-problem", "below duration_ms")
	b.set(`#limit input[name="duration"]`, "60")
	b.set(`#limit select[name="traffic"]`, "burst")
	b.set(`#limit input[name="rate"]`, "3")
	b.until(`figure[data-algorithm="fixed_window"]`, "36 allowed, 0 denied")
	b.set(`#limit select[name="traffic"]`, "own")
	b.set(`#limit input[name="refill"]`, "0.1")
	b.until("#compared", "tokens")
	b.set(`#limit input[name="refill"]`, "0")
	b.click("#play")
	b.until("#play", "Pause")
	b.click("#play")
	b.click("#step")
	b.set("#cursor", "60")
	b.until("#clock", "30.0 s")
	b.set(`#limit input[name="amount"]`, "0")
	b.until("#playground-problem", "amount")
}

func TestRules(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := open(t, s.page, 1200, 900)
	b.part("rules")
	b.until("#in-force", "shop/path=/static/*", "3 a 6 second", "token_bucket", "rules.yaml:3:")
	b.shot("rules")
	b.set("#filter", "guest")
	b.until("#in-force", "sliding_window_log")
	if text := b.text("#in-force"); strings.Contains(text, "static") {
		t.Errorf("the filter lets %s through", text)
	}
	b.set("#filter", "")
	if err := os.WriteFile(s.rules, []byte(strings.Replace(rules, "requests_per_unit: 600", "requests_per_unit: many", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	b.click("#reload")
	b.until("#rules-state", "partial", "In error")
	b.until("#diagnostics", "requests_per_unit must be a plain whole number")
	b.until("#server", "newest rules are in error")
}

// With a token the page asks for it, and goes on once it has it.
func TestToken(t *testing.T) {
	t.Parallel()
	s := start(t, "ADMIN_TOKEN=hunter2")
	b := open(t, s.page+"/#rules", 1200, 900)
	b.do(chromedp.WaitVisible("#token"), chromedp.SendKeys(`#token input`, "hunter2\r"))
	b.until("#in-force", "shop/guest")
}

// Axe finds nothing serious, light and dark, wide and on a phone; and a phone need
// not scroll sideways.
func TestAccessible(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile(os.Getenv("AXE"))
	if err != nil {
		t.Fatalf("axe-core is missing: run ./test.sh, which fetches it, or name its axe.min.js in AXE: %v", err)
	}
	s := start(t)
	for range 5 {
		s.ask(t, "guest", "eve")
	}
	for _, width := range []int{1200, 375} {
		b := open(t, s.page, width, 900)
		b.do(chromedp.EmulateViewport(int64(width), 900))
		for _, scheme := range []string{"light", "dark"} {
			if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			}); err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{"live", "try", "playground", "rules"} {
				b.part(part)
				s.ask(t, "guest", "eve")
				time.Sleep(700 * time.Millisecond) // for what comes to be shown
				b.shot(fmt.Sprintf("%s-%s-%d", part, scheme, width))
				wantAccessible(t, b, string(axe), fmt.Sprintf("%s, %s, %d", part, scheme, width))
				if eval[bool](b, `document.documentElement.scrollWidth > document.documentElement.clientWidth`) {
					t.Errorf("%s at %d pixels scrolls sideways", part, width)
				}
			}
		}
	}
}

func wantAccessible(t *testing.T, b *tab, axe, where string) {
	t.Helper()
	found := eval[string](b, axe+`; axe.run().then((r) => JSON.stringify(r.violations.map((v) => ({id: v.id, impact: v.impact, at: v.nodes.map((n) => n.html).slice(0, 3)}))))`, chromedp.EvalAwaitPromise)
	var violations []struct {
		ID, Impact string
		At         []string
	}
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		t.Fatalf("%v: %s", err, found)
	}
	for _, v := range violations {
		if v.Impact == "serious" || v.Impact == "critical" {
			t.Errorf("%s: %s: %s at %q", where, v.Impact, v.ID, v.At)
		}
	}
}
