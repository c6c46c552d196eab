package httpserver

import "testing"

// A host that sends forged tokens does not keep a scraper of another host out.
func TestHostsAreLimitedApart(t *testing.T) {
	l, accepted := newHostLimiter(), 0
	for range 100 {
		if l.accept("192.0.2.1:40000") {
			accepted++
		}
	}
	if accepted < reviewBurst || accepted > 2*reviewBurst {
		t.Errorf("%d of 100 tokens of one host are reviewed", accepted)
	}
	for range reviewBurst {
		if !l.accept("192.0.2.2:40000") {
			t.Error("a token of another host is refused")
		}
	}
	if l.accept("192.0.2.1:40001") {
		t.Error("another port is another host")
	}
}
