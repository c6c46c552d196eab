package integration

import (
	"flag"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

const installed = "testdata/installed"

var update = flag.Bool("update", false, "make golden files of what an installation makes")

func TestInstallMakesTheseObjects(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	e.manage()
	e.install(bundle())
	if *update {
		accept(e, installed)
	}
	isComplete(e, installed)
}

func TestInstallPhases(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", allNamespaces)
	e.manage()
	e.create(csv("operator.v1", "server"))
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	setAvailable(e, "server", true)
	e.succeeds("operator.v1")
	var got []string
	for _, c := range e.get("operator.v1").Status.Conditions {
		got = append(got, fmt.Sprintf("%s/%s: %s", c.Phase, c.Reason, c.Message))
	}
	expect(t, got,
		"Pending/RequirementsUnknown: requirements not yet checked",
		"InstallReady/AllRequirementsMet: all requirements found, attempting install",
		"Installing/InstallSucceeded: waiting for install components to report healthy",
		"Installing/InstallWaiting: installing: waiting for deployment server to become ready: the Deployment is being created",
		"Succeeded/InstallSucceeded: install strategy completed with no errors")
}

func TestInstallPrinterColumns(t *testing.T) {
	e := newOperatorEnv(t)
	runOperator(e)
	table := &metav1.Table{}
	e.must(e.olm.WebhookRollouts(e.namespace).GetClient().Get().Namespace(e.namespace).Resource("webhookrollouts").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(e.ctx).Into(table))
	cells := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		cells[column.Name] = table.Rows[0].Cells[i]
	}
	expires := e.rollout("operator.v1").CertificateExpirationTime.UTC().Format(time.RFC3339)
	for column, want := range map[string]any{"Name": "operator.v1", "Ready": int64(1), "Declared": int64(1), "Cert-Expires": expires, "Provider": "manager"} {
		same(t, "column "+column, cells[column], want)
	}
	if age, ok := cells["Age"].(string); !ok || age == "" || age == "<unknown>" {
		t.Errorf("column Age shows %v", cells["Age"])
	}
}
