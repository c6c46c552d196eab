package lint

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The bundle of the page has only the finding that the page announces.
func TestBundleOfTheFirstWebhook(t *testing.T) {
	page := string(installtest.OrPanic(os.ReadFile("../../../../docs/author/first-webhook.md")))
	files := fstest.MapFS{}
	for _, block := range strings.Split(page, "\n```yaml\n# bundle/")[1:] {
		name, rest, _ := strings.Cut(block, "\n")
		text, _, _ := strings.Cut(rest, "```\n")
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	installtest.Same(t, "files of the page", 2, len(files))
	installtest.Same(t, "findings", []string{"olm-operatorhub"}, codes(Run(bundle.InspectFS(files, "page"))))
}
