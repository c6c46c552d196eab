package manager

import (
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestOneOf(t *testing.T) {
	for value, want := range map[string]string{"dial": "", "none": "", "all": "--probe=all: use dial or none"} {
		_, err := oneOf("probe", value, "dial", "none")
		installtest.Error(t, want, err)
	}
}

// Without --with-olm, a proxy for operators would have no effect.
func TestOperatorProxyNeedsOLM(t *testing.T) {
	for with, want := range map[string]string{
		"":           "--operator-http-proxy, --operator-https-proxy and --operator-no-proxy have no effect without --with-olm: add --with-olm, or remove these flags",
		"--with-olm": "--registration-gate=none: use serving or available",
	} {
		cmd := NewRunCommand()
		cmd.SetArgs(append([]string{"--operator-no-proxy=.svc", "--registration-gate=none"}, strings.Fields(with)...))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		installtest.Error(t, want, cmd.ExecuteContext(t.Context()))
	}
}

// Two managers would write the status of one Operator in turn.
func TestWithOLMIsForAllNamespaces(t *testing.T) {
	o := runOptions{withOLM: true, controller: controller.Options{Namespaces: []string{"shop"}}}
	installtest.Error(t, "--with-olm takes the place of an olm-operator of all namespaces: leave out --namespaces", o.check(nil))
}
