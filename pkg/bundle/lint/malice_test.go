package lint

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
)

// Everything that the fixture tries is named, at the object that tries it.
func TestMaliceIsNamed(t *testing.T) {
	b, err := bundle.Inspect("../testdata/malice")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range Run(b).Findings {
		if f.Code == "rule-matches-nothing" && strings.Contains(f.What, "Namespace") && f.Level != Error {
			t.Errorf("a kind in place of a resource is a %s", f.Level)
		}
		found = append(found, f.Code+" "+f.File+" "+f.Path)
	}
	const csv, annotations = " manifests/csv.yaml ", " metadata/annotations.yaml annotations[operators.operatorframework.io.bundle."
	for _, want := range []string{
		"unknown-field" + csv + "[spec.webhookdefinitions[1].objectSelector]",
		"unknown-field" + csv + "[spec.webhookdefinitions[1].failurePolicy]",
		"unknown-field" + csv + "spec.webhookdefinitions[0].failurePolcy",
		"unknown-field manifests/role.yaml [rules[0].resourceNames]",
		"media-type" + annotations + "mediatype.v1]",
		"default-channel" + annotations + "channel.default.v1]",
		"replaces-itself" + csv + "spec.replaces",
		"image-without-version" + csv + "spec.install.spec.deployments[0].spec.template.spec.containers[0].image",
		"grants-everything" + csv + "spec.install.spec.clusterPermissions[0].rules[0]",
		"rule-matches-nothing" + csv + "spec.webhookdefinitions[0].rules[1].resources",
		"grants-to-others manifests/binding.yaml subjects[0]",
		"grants-everything manifests/binding.yaml roleRef",
		"refused-object manifests/account.yaml kind",
		"refused-object manifests/apiservice.yaml kind",
		"refused-object manifests/foreigngroup.yaml kind",
		"refused-object manifests/group.yaml kind",
		"refused-object manifests/namespace.yaml kind",
		"refused-object manifests/policy.yaml kind",
		"refused-object manifests/subscription.yaml kind",
		"refused-object manifests/webhooks.yaml kind",
		"refused-object manifests/webhooks.yaml webhooks[0].rules[0]",
	} {
		if !slices.Contains(found, want) {
			t.Errorf("%q is not among\n%q", want, found)
		}
	}
}

// What is found is refused, whatever else the bundle holds.
func TestRefusedObjects(t *testing.T) {
	for name, c := range map[string]struct{ text, code string }{
		"a kind that is not listed": {"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a}\n", "refused-object"},
		"an OperatorGroup":          {"apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: a}\n", "refused-object"},
		"a Namespace":               {"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", "refused-object"},
	} {
		t.Run(name, func(t *testing.T) {
			b := bundle.InspectFS(fstest.MapFS{
				"manifests/csv.yaml": {Data: []byte(smallCSV)}, "manifests/a.yaml": {Data: []byte(c.text)}, "metadata/annotations.yaml": {Data: []byte(smallAnnotations)},
			}, "test")
			if !slices.ContainsFunc(Run(b).Findings, func(f Finding) bool { return f.Code == c.code }) {
				t.Errorf("%s is not found", c.code)
			}
			var refused *bundle.RefusedError
			if _, err := bundle.Manifests(b, bundle.Options{}); !errors.As(err, &refused) {
				t.Errorf("it is not refused: %v", err)
			}
		})
	}
}
