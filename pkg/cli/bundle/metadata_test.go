package bundle

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhatCatalogsRead(t *testing.T) {
	const dependencies, properties = "metadata/dependencies.yaml", "metadata/properties.yaml"
	entry := func(list, kind, value string) string {
		return fmt.Sprintf("%s:\n- type: %s\n  value: %s\n", list, kind, value)
	}
	constraint := func(value string) string { return entry("properties", "olm.constraint", value) }
	for name, c := range map[string]struct {
		file, text string
		want       string // the one problem; empty for none
	}{
		"dependencies of each type": {dependencies, `dependencies:
- {type: olm.gvk, value: {group: example.com, kind: Shop, version: v1}}
- {type: olm.package, value: {packageName: shop, version: ">=1.0.0 <2.0.0"}}
- {type: olm.label, value: {label: shop}}
- {type: olm.constraint, value: {cel: {rule: 'properties.exists(p, p.type == "olm.test")'}}}
`, ""},
		"properties of each type": {properties, `properties:
- {type: olm.gvk, value: {group: example.com, kind: Shop, version: v1}}
- {type: olm.gvk.required, value: {group: example.com, kind: Shop, version: v1}}
- {type: olm.package, value: {packageName: shop, version: 1.0.0}}
- {type: olm.package.required, value: {packageName: shop, versionRange: ">1.0.0"}}
- {type: olm.label, value: {label: shop}}
- {type: olm.label.required, value: {label: shop}}
- {type: olm.maxOpenShiftVersion, value: "4.20"}
- {type: com.example.anything, value: [1, {a: b}]}
- type: olm.constraint
  value:
    failureMessage: a shop is needed
    any:
      constraints:
      - {package: {packageName: shop, versionRange: ">=1.0.0"}}
      - {not: {constraints: [{gvk: {group: example.com, kind: Shop, version: v1}}]}}
`, ""},
		"an empty list": {dependencies, "dependencies: []\n", ""},

		"broken YAML":                    {dependencies, "dependencies:\n- type: {\n", "broken-metadata: metadata/dependencies.yaml:3: did not find"},
		"an empty file":                  {properties, "", "broken-metadata: metadata/properties.yaml:1: has no list properties"},
		"a list alone":                   {dependencies, "- a\n", "broken-metadata: metadata/dependencies.yaml:1: has no list dependencies"},
		"another type of list":           {dependencies, "dependencies: many\n", "broken-metadata: metadata/dependencies.yaml:1: dependencies: is no list of items"},
		"an item that is none":           {dependencies, "dependencies: [many]\n", "broken-metadata: metadata/dependencies.yaml:1: dependencies: is no list of items"},
		"a field next to the list":       {properties, "properties: []\nother: a\n", "unknown-field: metadata/properties.yaml:2: [other]: is nothing that OLM reads"},
		"a field next to the value":      {properties, "properties:\n- type: a\n  value: b\n  packageName: shop\n", "unknown-field: metadata/properties.yaml:4: properties[0].packageName: is nothing that OLM reads"},
		"a key twice":                    {properties, "properties:\n- type: a\n  value: b\n  value: c\n", "repeated-field: metadata/properties.yaml:4"},
		"no type":                        {dependencies, "dependencies:\n- value: {}\n", "broken-entry: metadata/dependencies.yaml:2: dependencies[0]: has no type"},
		"no value":                       {dependencies, "dependencies:\n- type: olm.gvk\n", "broken-entry: metadata/dependencies.yaml:2: dependencies[0]: has no value"},
		"an unknown dependency":          {dependencies, entry("dependencies", "olm.packages", "{}"), `broken-entry: metadata/dependencies.yaml:2: dependencies[0].type: is "olm.packages", and dependencies are olm.constraint, olm.gvk, olm.label, olm.package only`},
		"a group left out":               {dependencies, entry("dependencies", "olm.gvk", "{kind: Shop, version: v1}"), "broken-entry: metadata/dependencies.yaml:3: dependencies[0].value.group: is missing"},
		"a version left out":             {dependencies, entry("dependencies", "olm.gvk", "{kind: Shop, group: example.com}"), "dependencies[0].value.version: is missing"},
		"a kind left out":                {properties, entry("properties", "olm.gvk.required", "{version: v1, group: example.com}"), "properties[0].value.kind: is missing"},
		"a package left out":             {dependencies, entry("dependencies", "olm.package", "{version: 1.0.0}"), "dependencies[0].value.packageName: is missing"},
		"a range left out":               {dependencies, entry("dependencies", "olm.package", "{packageName: shop}"), "dependencies[0].value.version: is missing"},
		"a range that is none":           {dependencies, entry("dependencies", "olm.package", "{packageName: shop, version: latest}"), `dependencies[0].value.version: is "latest", which is no range of semantic versions`},
		"a required range that is none":  {properties, entry("properties", "olm.package.required", "{packageName: shop, versionRange: latest}"), `properties[0].value.versionRange: is "latest"`},
		"a range for a version":          {properties, entry("properties", "olm.package", `{packageName: shop, version: ">1.0.0"}`), `properties[0].value.version: is ">1.0.0", which is no semantic version`},
		"a label left out":               {dependencies, entry("dependencies", "olm.label", "{}"), "dependencies[0].value.label: is missing"},
		"a field misspelt":               {dependencies, entry("dependencies", "olm.gvk", "\n    group: example.com\n    kind: Shop\n    version: v1\n    versions: v2"), "broken-entry: metadata/dependencies.yaml:7: dependencies[0].value.versions: is no field of such a value"},
		"a value of another type":        {dependencies, entry("dependencies", "olm.gvk", "many"), "dependencies[0].value: cannot be read"},
		"a constraint of another sort":   {properties, constraint("{some: {}}"), `properties[0].value: is no constraint that OLM reads: unknown field "some"`},
		"an empty constraint":            {properties, constraint("{failureMessage: a shop is needed}"), "properties[0].value: has 0 of all, any, cel, gvk, not and package"},
		"two constraints in one":         {properties, constraint("{gvk: {group: a.b, kind: A, version: v1}, package: {packageName: shop, versionRange: 1.0.0}}"), "properties[0].value: has 2 of all"},
		"an expression that is none":     {properties, constraint("{cel: {rule: 'properties.exists('}}"), "properties[0].value.cel.rule: is no condition that OLM can evaluate: ERROR"},
		"an expression that is no truth": {properties, constraint("{cel: {rule: '1 + 1'}}"), "properties[0].value.cel.rule: is no condition that OLM can evaluate: cel expressions must have type Bool"},
		"a package within a constraint":  {properties, constraint("{all: {constraints: [{gvk: {group: a.b, kind: A, version: v1}}, {package: {packageName: shop}}]}}"), "properties[0].value.all.constraints[1].package.versionRange: is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := files(nil)
			fsys[c.file] = files(map[string]string{c.file: c.text + "\n"})[c.file]
			b := InspectFS(fsys, "test")
			got := problemTexts(t, b)
			if c.want == "" && got != nil || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			must(t, b.Err())
		})
	}
}
