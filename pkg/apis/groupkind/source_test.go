package groupkind

import (
	"regexp"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/sourcetest"
)

// callers are the files of the commands that may call GetKind, each with its reason.
var callers = map[string]string{
	"pkg/cli/bundle/allowedkinds.go":  "in a message",
	"pkg/cli/bundle/manifests.go":     "in a key, with the group",
	"pkg/cli/bundle/parse.go":         "in messages, and for lists of any group",
	reader:                            "finds a ClusterServiceVersion whose group is misspelt, and reports it",
	"pkg/cli/bundle/unknownfields.go": "in a message",
	"pkg/cli/deploy/record.go":        "is recorded, with the group",
	"pkg/cli/installer/apply.go":      "in a message, with the group",
	"pkg/cli/installer/dryrun.go":     "in a message, with the group",
}

const reader = "pkg/cli/bundle/read.go"

var comparison = regexp.MustCompile(`GetKind\(\) *[!=]=|[!=]= *[\w.()]*GetKind\(\)|switch .*GetKind\(\) *\{`)

// A kind without its group can belong to a tenant. Another file that reads it has to be added with a reason.
func TestNoKindIsReadWithoutItsGroup(t *testing.T) {
	unused := len(callers)
	for name, text := range sourcetest.Files(t, "pkg/cli") {
		switch {
		case !strings.Contains(text, ".GetKind"):
		case callers[name] == "" || name != reader && comparison.MatchString(text):
			t.Errorf("%s reads a kind without its group: use groupkind.Is or groupkind.Of", name)
		default:
			unused--
		}
	}
	if unused != 0 {
		t.Errorf("%d files of the list do not call GetKind", unused)
	}
}
