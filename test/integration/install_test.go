package integration

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
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
	e := newGroupEnv(t)
	e.manage()
	e.create(csv("operator.v1", "server"))
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	serverStarts(e)
	got := lists.Map(e.get("operator.v1").Status.Conditions, func(c operatorsv1alpha1.ClusterServiceVersionCondition) string {
		return fmt.Sprintf("%s/%s: %s", c.Phase, c.Reason, c.Message)
	})
	expect(t, got,
		"Pending/RequirementsUnknown: requirements not yet checked",
		"InstallReady/AllRequirementsMet: all requirements found, attempting install",
		"Installing/InstallSucceeded: waiting for install components to report healthy",
		"Installing/InstallWaiting: installing: waiting for deployment server to become ready: the Deployment is being created",
		"Succeeded/InstallSucceeded: install strategy completed with no errors")
}

func TestInstallPrinterColumns(t *testing.T) {
	e, _ := newRunningOperator(t)
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

// The second Deployment may create what the first one's webhook has to see.
func TestSecondDeploymentStartsAfterTheFirstWebhook(t *testing.T) {
	e := newOperatorEnv(t, "first")
	proxy := proxy(e, nil)
	m := manageThrough(e, proxy.Config())
	e.create(csv("operator.v1", "first", "second"))
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	m.looksAgain("operator.v1")
	same(t, "the second Deployment before the first is available", e.deployment("second"), nil)
	d := e.rollout("operator.v1").Deployments[1]
	same(t, "the second Deployment", string(d.State)+"/"+d.Reason, "Pending/EarlierDeployment")

	setAvailable(e, "first", true)
	e.succeeds("operator.v1")
	writes := proxy.Writes()
	registered := slices.IndexFunc(writes, isRegistration)
	slices.Reverse(writes)
	second := len(writes) - 1 - slices.IndexFunc(writes, func(w string) bool { return strings.HasPrefix(w, "POST") && strings.HasSuffix(w, "/deployments") })
	if registered > second {
		t.Errorf("the second Deployment was started by write %d, before the webhook was registered by %d", second, registered)
	}
}

// The first Deployment may wait for a webhook of the second: the order is no trap.
func TestOrderIsRelaxed(t *testing.T) {
	e := newOperatorEnv(t, "first")
	e.manage(func(o *controller.Options) { o.Rollout.OrderTimeout = time.Second })
	c := csv("operator.v1", "first", "second")
	c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("second.example.com", "second"))
	e.create(c)
	becomes(e, "the second webhook is registered", func() string { return string(webhookStatus(e, "operator.v1", "second.example.com").State) }, "Registered")
	relaxed := conditionIn(e.rollout("operator.v1").Conditions, "OrderRelaxed")
	installtest.Prefix(t, "condition OrderRelaxed", "deployment first is not complete within its bound", relaxed.Message)
	if _, registered := registered(e)["v.example.com"]; registered {
		t.Error("the first Deployment's webhook is registered, and no server serves it")
	}

	setAvailable(e, "first", true)
	e.succeeds("operator.v1")
	becomes(e, "the order is not relaxed any more", func() *metav1.Condition {
		return meta.FindStatusCondition(e.rollout("operator.v1").Conditions, "OrderRelaxed")
	}, nil)
}

func TestInstallTimeout(t *testing.T) {
	e := newGroupEnv(t)
	e.manage(func(o *controller.Options) { o.Rollout.InstallTimeout = time.Second })
	e.create(csv("operator.v1", "server"))
	message := e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInstallCheckFailed)
	installtest.Prefix(t, "the message", "install timeout", message)
	installtest.Contains(t, message, "deployment server")
	registersNothing(e)
	serverStarts(e)
}

// A live webhook that no endpoint answers stays as it is: to unregister it, or to ignore its
// failures, would let through what it has to stop.
func TestUnreachable(t *testing.T) {
	e := newGroupEnv(t)
	e.manage()
	e.create(csv("operator.v1", "server"))
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	serverStarts(e)
	before := e.registration("v.example.com").ResourceVersion

	setAvailable(e, "server", false)
	e.reachesSaying("operator.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonComponentUnhealthy, `"server"`)
	same(t, "the state in the WebhookRollout", webhookStatus(e, "operator.v1", "v.example.com").State, "Unreachable")
	if r := e.rollout("operator.v1"); r.ReadyRegistrations != 0 || r.Registrations != 1 || meta.IsStatusConditionTrue(r.Conditions, "Ready") {
		t.Errorf("the WebhookRollout has %d of %d ready, %+v", r.ReadyRegistrations, r.Registrations, r.Conditions)
	}

	serverStarts(e)
	same(t, "the state in the WebhookRollout", webhookStatus(e, "operator.v1", "v.example.com").State, "Registered")
	same(t, "resourceVersion of the registration", e.registration("v.example.com").ResourceVersion, before)
}
