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
	short, long := scaffold.Options{Name: "team-label", Domain: "example.com", Types: []string{scaffold.Validating}}, scaffold.Options{Name: strings.Repeat("a", 56), Domain: "x.k8s.io", Types: []string{scaffold.Mutating}}
	ofTypes := func(o scaffold.Options, types ...string) scaffold.Options {
		o.Types = types
		return o
	}
	for name, o := range map[string]scaffold.Options{
		"validating": short, "mutating": ofTypes(short, scaffold.Mutating), "both": ofTypes(short, scaffold.Validating, scaffold.Mutating),
		"conversion": ofTypes(short, scaffold.Conversion), "all": ofTypes(short, scaffold.Types...), "the longest name": long,
	} {
		t.Run(name, func(t *testing.T) {
			o.Module, o.Image, o.HostingVersion = "example.com/"+o.Name, "registry.example.com/"+o.Name+":v0.1.0", "v0.1.0"
			must(t, o.Validate())
			written := installtest.OrPanic(scaffold.Files(o))
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
