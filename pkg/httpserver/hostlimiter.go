package httpserver

import (
	"net"
	"sync"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/util/flowcontrol"
)

// hostLimiter limits how often each host has a token reviewed: forged tokens of one host do not refuse the others.
type hostLimiter struct {
	mutex sync.Mutex
	known *cache.LRUExpireCache // flowcontrol.RateLimiter by host
}

func newHostLimiter() *hostLimiter {
	return &hostLimiter{known: cache.NewLRUExpireCache(limitedHosts)}
}

func (l *hostLimiter) accept(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	limiter, known := l.known.Get(host)
	if !known {
		limiter = flowcontrol.NewTokenBucketRateLimiter(reviewRate, reviewBurst)
	}
	l.known.Add(host, limiter, hostTime)
	return limiter.(flowcontrol.RateLimiter).TryAccept()
}
