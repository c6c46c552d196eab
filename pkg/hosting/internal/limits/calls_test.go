package limits

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestRequestsBeforeACallAreBounded(t *testing.T) {
	l := NewCalls()
	l.MaxRequests = 1
	asked, answer := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(l.LimitCallers(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-answer
	})))
	defer server.Close()
	post := func() int {
		response, err := http.Post(server.URL, "application/json", nil)
		if err != nil {
			t.Error(err)
			return 0
		}
		response.Body.Close()
		return response.StatusCode
	}
	first := make(chan int)
	go func() { first <- post() }()
	<-asked
	if status := post(); status != http.StatusTooManyRequests {
		t.Errorf("the second is answered with HTTP %d", status)
	}
	answer <- struct{}{}
	if status := <-first; status != http.StatusOK {
		t.Errorf("the first is answered with HTTP %d", status)
	}
	server.Close() // waits for the handlers
	if n := l.callers.Load(); n != 0 {
		t.Errorf("%d requests are still counted", n)
	}
}
