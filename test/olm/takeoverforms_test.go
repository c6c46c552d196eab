package olm

import (
	"flag"
	"os"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/forms"
)

var writeForms = flag.Bool("forms", false, "write the tables of docs/admin/takeover-objects-olm.md")

const pageOfForms = "../../docs/admin/takeover-objects-olm.md"

// stage records the form in which the objects of the operator are now.
func (o *underOLM) stage(name string) {
	o.Helper()
	objects, err := forms.Read(o.ctx, dynamicClient, o.namespace, o.csv)
	o.must(err)
	o.stages = append(o.stages, forms.Stage{Name: name, Objects: objects})
}

// writesForms logs the table of the operator, and with -forms writes it into its section of the page.
func (o *underOLM) writesForms() {
	o.Helper()
	table := forms.Table(o.namespace, o.stages...)
	o.Logf("forms of %s:\n%s", o.csv, table)
	if !*writeForms {
		return
	}
	page, err := os.ReadFile(pageOfForms)
	o.must(err)
	before, rest, found := strings.Cut(string(page), "\n## "+o.namespace+"\n\n")
	if !found {
		return
	}
	_, after, _ := strings.Cut("\n"+rest, "\n## ")
	text := before + "\n## " + o.namespace + "\n\n" + table
	if after != "" {
		text += "\n## " + after
	}
	o.must(os.WriteFile(pageOfForms, []byte(text), 0o600))
}
