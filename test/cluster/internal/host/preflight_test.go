package host

import (
	"slices"
	"strings"
	"testing"
)

const everyCapability = "Name:\tcluster\nCapEff:\t000001fffeffffff\n"

func anything(string) bool { return true }

func TestLacksPrivilege(t *testing.T) {
	for name, tc := range map[string]struct {
		machine machine
		want    string // in the error; none if empty
	}{
		"root":                      {machine{uid: 0, status: everyCapability, exists: anything}, ""},
		"an ordinary user":          {machine{uid: 1000, status: everyCapability, exists: anything}, "needs root"},
		"an ordinary container":     {machine{uid: 0, status: "CapEff:\t00000000a80425fb\n", exists: anything}, "lacks CAP_NET_ADMIN and CAP_SYS_ADMIN"},
		"a container for networks":  {machine{uid: 0, status: "CapEff:\t00000000a80435fb\n", exists: anything}, "lacks CAP_SYS_ADMIN here"},
		"an unreadable status":      {machine{uid: 0, status: "", exists: anything}, "--privileged"},
		"no device of the kernel's": {machine{uid: 0, status: everyCapability, exists: func(string) bool { return false }}, "/dev/kmsg"},
	} {
		t.Run(name, func(t *testing.T) {
			err := lacksPrivilege(tc.machine)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("lacksPrivilege = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestMissingPackages(t *testing.T) {
	for name, tc := range map[string]struct {
		has  []string
		want []string
	}{
		"all there":      {has: []string{"runc", "nft", "ip", "mount"}, want: nil},
		"a fresh Debian": {has: []string{"ip", "mount"}, want: []string{"runc", "nftables"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := missingPackages(machine{has: func(program string) bool { return slices.Contains(tc.has, program) }})
			if !slices.Equal(got, tc.want) {
				t.Errorf("missingPackages = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestDescribeMissing(t *testing.T) {
	got := describeMissing([]string{"runc", "nftables"}).Error()
	for _, want := range []string{
		"runc, of package runc: starts containers",
		"nft, of package nftables: kube-proxy",
		"apt-get install -y --no-install-recommends runc nftables",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the message lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "iproute2") {
		t.Errorf("the message names a package that is installed:\n%s", got)
	}
}
