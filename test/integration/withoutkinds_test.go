package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	clusterpkg "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A cluster without the kind OperatorCondition has operators without one, and those get it when
// the kind comes. The definition is away from all tests meanwhile: none runs next to this one.
func TestWithoutOperatorConditions(t *testing.T) {
	e := newEnv(t)
	const name, file = "operatorconditions.operators.coreos.com", "../../manifests/crds/olm/operators.coreos.com_operatorconditions.yaml"
	restore := func() { e.must(cluster.InstallCRDs(context.Background(), file)) }
	e.Cleanup(restore)
	crds := e.any.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	e.must(crds.Delete(e.ctx, name, metav1.DeleteOptions{}))
	e.must(kube.AwaitRemoval(e.ctx, crds, name))
	e.group("og", allNamespaces)
	e.runDeployments()
	m := runOperator(e)
	roles := e.kube.RbacV1().Roles(e.namespace)
	if _, err := roles.Get(e.ctx, "operator.v1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("there is a Role for an OperatorCondition that there cannot be: %v", err)
	}
	m.settles("operator.v1")

	restore()
	e.eventually("it has an OperatorCondition, and the Role for it", func() (bool, any) {
		_, err := e.any.Resource(derived[5]).Namespace(e.namespace).Get(e.ctx, "operator.v1", metav1.GetOptions{})
		if err == nil {
			_, err = roles.Get(e.ctx, "operator.v1", metav1.GetOptions{})
		}
		return err == nil, err
	})
	e.uninstall("operator.v1")
	leavesNothing(e)
}

// standingAlone makes an API server one without aggregation, which the cluster's own refuses to be:
// it answers that its kinds do not exist.
func standingAlone(rt http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if !strings.HasPrefix(r.URL.Path, "/apis/apiregistration.k8s.io") {
			return rt.RoundTrip(r)
		}
		text, err := json.Marshal(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound,
			Message: "the server could not find the requested resource",
		})
		return &http.Response{
			StatusCode: http.StatusNotFound, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)), Request: r,
		}, err
	})
}

// An API server that passes no requests on has all that operators need but APIServices. Of the
// kinds of cert-manager and of OpenShift there are none in this package's cluster either.
func TestWithoutAggregation(t *testing.T) {
	e := newOperatorEnv(t)
	config := cluster.Config()
	config.Wrap(standingAlone)
	manageThrough(e, config)
	group := e.namespace + ".example.com"

	c := csv("operator.v1", "server")
	c.Spec.NativeAPIs = []metav1.GroupVersionKind{{Group: group, Version: "v1", Kind: "Pond"}}
	e.create(c)
	comesToSay(e, "operator.v1", says{"Pending", "RequirementsNotMet", requirementsNotMet})
	define(e, group, "v1")
	e.succeeds("operator.v1")
	e.order("once")
	rotates(e, 2)

	e.install(replacing("operator.v1", csv("operator.v2", "server")))
	noLongerExist(e, "operator.v1")
	collect(e)

	serving := csv("serving.v1", "api")
	serving.Spec.APIServiceDefinitions.Owned = []operatorsv1alpha1.APIServiceDescription{{Group: "owned." + group, Version: "v1", Kind: "Lake", DeploymentName: "api"}}
	e.create(serving)
	e.reachesSaying("serving.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet, "does not pass requests on to others (apiregistration.k8s.io/v1)")
	commands, err := clusterpkg.New(config)
	e.must(err)
	_, err = commands.Examine(e.ctx, false)
	e.must(err)
	e.uninstall("serving.v1")
	e.uninstall("operator.v2")
	leavesNothing(e)
}
