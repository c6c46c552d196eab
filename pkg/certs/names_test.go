package certs

import (
	"slices"
	"testing"
)

func TestDNSNames(t *testing.T) {
	want := []string{"manager-service.shop", "manager-service.shop.svc", "manager-service.shop.svc.cluster.local"}
	if got := DNSNames("manager-service", "shop"); !slices.Equal(got, want) {
		t.Errorf("names are %q, want %q", got, want)
	}
}
