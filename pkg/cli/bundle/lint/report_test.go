package lint

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

var printed = Report{Bundle: "shop", Findings: []Finding{
	{Level: Error, Code: "unknown-deployment", File: "manifests/csv.yaml", Line: 12, Path: "spec.webhookdefinitions[0].deploymentName", What: "no Deployment serves it", Remedy: "name another"},
	{Level: Error, Code: "not-a-bundle", What: "is no bundle"},
	{Level: Error, Code: "olm-csv", Basis: Library, File: "manifests/csv.yaml", Line: 4, Path: "metadata.name", What: "is no name", Remedy: "write one"},
	{Level: Warning, Code: "one-replica", Basis: Policy, File: "manifests/csv.yaml", Line: 3, What: "it may be away", Remedy: "write two", Waived: "it is a small cluster"},
}}

func TestPrint(t *testing.T) {
	var got bytes.Buffer
	printed.Print(output.New(&got))
	const want = `error   unknown-deployment  manifests/csv.yaml:12 spec.webhookdefinitions[0].deploymentName
        no Deployment serves it
        name another
error   not-a-bundle
        is no bundle
error   olm-csv (operator-framework/api)  manifests/csv.yaml:4 metadata.name
        is no name
        write one
waived  one-replica (policy)  manifests/csv.yaml:3
        it may be away
        waived: it is a small cluster
shop: 3 errors, 0 warnings, 1 waived
`
	installtest.Same(t, "report", want, got.String())
}

func TestSARIFIsValid(t *testing.T) {
	var text bytes.Buffer
	must(t, SARIF(output.New(&text), "v1.0.0", printed))
	log := installtest.OrPanic(sarif.FromBytes(text.Bytes()))
	must(t, log.Validate())
	run := log.Runs[0]
	installtest.Same(t, "the number of rules", len(Checks()), len(run.Tool.Driver.Rules))
	first, last := run.Results[0], run.Results[3]
	place := first.Locations[0].PhysicalLocation
	installtest.Same(t, "the first result", "unknown-deployment at shop/manifests/csv.yaml:12", fmt.Sprintf("%s at %s:%d", *first.RuleID, *place.ArtifactLocation.URI, *place.Region.StartLine))
	installtest.Same(t, "what the last result rests on", any(string(Policy)), last.Properties.Properties["basis"])
	if len(last.Suppressions) != 1 || !strings.Contains(*last.Suppressions[0].Justification, "small cluster") {
		t.Errorf("the waived result is suppressed by %v", last.Suppressions)
	}
}
