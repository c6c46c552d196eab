package manager

import (
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestOneOf(t *testing.T) {
	for value, want := range map[string]string{"dial": "", "none": "", "all": "--probe=all: use dial or none"} {
		_, err := oneOf("probe", value, "dial", "none")
		installtest.Error(t, want, err)
	}
}
