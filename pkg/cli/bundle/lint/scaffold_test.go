package lint

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/scaffold"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The bundle of kubectl webhooks init has no finding except the icon, which only OperatorHub.io needs.
func TestBundlesOfInit(t *testing.T) {
	for _, types := range [][]string{{scaffold.Validating}, {scaffold.Mutating}, {scaffold.Validating, scaffold.Mutating}, {scaffold.Conversion}, scaffold.Types} {
		t.Run(strings.Join(types, " "), func(t *testing.T) {
			written := installtest.OrPanic(scaffold.Files(scaffold.Options{
				Name: "team-label", Domain: "example.com", Module: "example.com/team-label", Image: "registry.example.com/team-label:v0.1.0", Types: types, HostingVersion: "v0.1.0",
			}))
			files := fstest.MapFS{}
			for name, text := range written {
				if name, is := strings.CutPrefix(name, "bundle/"); is {
					files[name] = &fstest.MapFile{Data: []byte(text)}
				}
			}
			installtest.Same(t, "findings", []string{"olm-operatorhub"}, codes(Run(bundle.InspectFS(files, "init"))))
		})
	}
}
