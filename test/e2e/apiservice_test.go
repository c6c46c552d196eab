package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const ownedGroup, ownedVersion = "echo.example.com", "v1"

// An API of the operator's own is registered when its pods serve, a rotation of their
// certificate costs no request to it, and nothing is left when the operator is removed.
func TestAPIServiceUnderLoad(t *testing.T) {
	e := newBareEnv(t)
	clean := e.restingCluster()
	group(e)
	csv := owningAPI(hookCSV("hook.v1", draining(server("hook", "--reload"))))
	csv.Spec.WebhookDefinitions = nil
	e.create(csv)
	e.succeeds("hook.v1")
	registered := apiService(e)
	if ready := firstReady(e); registered.CreationTimestamp.Time.Before(ready) {
		t.Errorf("the APIService was registered at %s, and the first pod was ready at %s", registered.CreationTimestamp, ready)
	}

	load := calls.Start(e, between, e.asksItsAPI)
	load.GoesOn(calls.Served)
	e.order("hook.v1", "once")
	e.rotates("hook.v1", 2)
	load.GoesOn(calls.Served)
	load.End(calls.Never)
	if now := apiService(e); now.UID != registered.UID || string(now.Spec.CABundle) == string(registered.Spec.CABundle) {
		t.Errorf("after the rotation the APIService is %s, and was %s; it trusts\n%s", now.UID, registered.UID, now.Spec.CABundle)
	}

	e.uninstall("hook.v1")
	e.must(olmClient.OperatorGroups(e.namespace).Delete(e.ctx, "own", metav1.DeleteOptions{}))
	e.clusterIs(clean)
}

func owningAPI(csv *operatorsv1alpha1.ClusterServiceVersion) *operatorsv1alpha1.ClusterServiceVersion {
	csv.Spec.APIServiceDefinitions.Owned = []operatorsv1alpha1.APIServiceDescription{{
		Name: "echoes", Group: ownedGroup, Version: ownedVersion, Kind: "Echo",
		DeploymentName: csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Name, ContainerPort: 9443,
	}}
	return csv
}

func apiService(e *env) *apiregistrationv1.APIService {
	e.Helper()
	client, err := aggregator.NewForConfig(config)
	e.must(err)
	return kube.Get(e, client.ApiregistrationV1().APIServices(), ownedVersion+"."+ownedGroup)
}

// firstReady is when the first of the Namespace's pods was, to the second.
func firstReady(e *env) (first time.Time) {
	e.Helper()
	for _, pod := range e.pods() {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && (first.IsZero() || c.LastTransitionTime.Time.Before(first)) {
				first = c.LastTransitionTime.Time
			}
		}
	}
	if first.IsZero() {
		e.Fatal("no pod is ready")
	}
	return first
}

// asksItsAPI sends a request through the API server to the one behind it, once.
func (e *env) asksItsAPI(ctx context.Context) calls.Call {
	c := calls.Call{Sent: time.Now(), Outcome: calls.Served}
	answer, err := kubeClient.Discovery().RESTClient().Get().AbsPath("/apis", ownedGroup, ownedVersion).MaxRetries(0).DoRaw(ctx)
	c.Answered, c.Err = time.Now(), err
	if err != nil || !strings.Contains(string(answer), `"name":"echoes"`) {
		c.Outcome = calls.Failed
	}
	return c
}
