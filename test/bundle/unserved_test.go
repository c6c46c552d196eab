package bundle

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A definition whose objects no server serves does not block the removal of its operator: one that was
// never served has none.
func TestRemovalsOfWhatIsNotServed(t *testing.T) {
	e := newEnv(t)
	crd := e.defineVersions(t, "absentees", map[string]string{"v1": schemas["anything"]})
	taken := crd.DeepCopy()
	taken.ObjectMeta = metav1.ObjectMeta{Name: "latecomers." + crd.Spec.Group}
	taken.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "latecomers", Singular: "latecomer", Kind: crd.Spec.Names.Kind, ListKind: crd.Spec.Names.ListKind}
	taken.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	client, err := apiextensions.NewForConfig(cluster.Config())
	must(t, err)
	definitions := client.ApiextensionsV1().CustomResourceDefinitions()
	kube.Create(t, definitions, taken)
	e.eventually(t, "its kind is taken", func() bool {
		live := kube.Get(t, definitions, taken.Name)
		return apihelpers.IsCRDConditionFalse(live, apiextensionsv1.NamesAccepted)
	})

	notYet := cluster.Config()
	notYet.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return lacking{next, "/" + crd.Spec.Group + "/v1/" + crd.Spec.Names.Plural}
	})
	for name, test := range map[string]struct {
		config *rest.Config
		crd    *apiextensionsv1.CustomResourceDefinition
		told   string
	}{
		"never, as its kind is taken": {cluster.Config(), taken, "with no objects"},
		"not yet, after a change":     {notYet, crd, "with an unknown number of objects, which cannot be read now"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := installer.New(test.config)
			must(t, err)
			i := installer.Installation{Bundle: bundleWith(t, test.crd), Manifests: manifestsOf(t, test.crd), Timeout: long, Print: t.Logf, Adopted: []string{deploy.Reference(definition(t, test.crd))}}
			removal := removalOf(t, c, i, true)
			installtest.Among(t, removal.Messages, "CustomResourceDefinition "+test.crd.Name+" is deleted, "+test.told)
		})
	}
	must(t, e.uninstall(t, manifestsOf(t, taken)[0], long))
}

// lacking is an API server that does not serve what is at a path.
type lacking struct {
	http.RoundTripper
	path string
}

func (l lacking) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, l.path) {
		return &http.Response{StatusCode: http.StatusNotFound, Request: r, Body: http.NoBody}, nil
	}
	return l.RoundTripper.RoundTrip(r)
}
