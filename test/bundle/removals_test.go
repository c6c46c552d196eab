package bundle

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const twoVersions = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: goods.%[1]s.example.com}
spec:
  group: %[1]s.example.com
  scope: Namespaced
  names: {kind: Good, plural: goods}
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

// An object that an installation has created is deleted with it, in any version that serves it now. While it
// is not known whether there is one, nothing is removed.
func TestRemovalAfterAVersionEnded(t *testing.T) {
	for name, test := range map[string]struct {
		namespace, served string
		broken            bool
		says              string
	}{
		"another version is served":    {"ended-one", "v2", false, ""},
		"no version is served":         {"ended-all", "", false, "CustomResourceDefinition goods.ended-all.example.com serves no version: set served: true in it for one"},
		"its server does not answer":   {"ended-broken", "", true, "the server of ended-broken.example.com/v3 does not answer"},
		"the same, and one version is": {"ended-both", "v2", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			definition := fmt.Sprintf(twoVersions, test.namespace)
			e.createAsAnother(t, definition)
			e.namespace(t, test.namespace)
			good := parsed(t, "apiVersion: "+test.namespace+".example.com/v2\nkind: Good\nmetadata: {name: g, namespace: "+test.namespace+"}\n")
			e.eventually(t, "served", func() bool { _, err := e.resource(good); return err == nil })
			b := written(t, test.namespace, test.namespace+".v1", "apiVersion: "+test.namespace+".example.com/v1\nkind: Good\nmetadata: {name: g}\n")
			o := bundle.Options{Namespace: test.namespace, AllowKinds: b.KindsToAllow()}
			c := newInstaller(t)
			must(t, applyAll(t, c, b, o))
			serveOnly := func(versions string) {
				crds := e.client(t, parsed(t, definition))
				for n, version := range []string{"v1", "v2"} {
					patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/versions/%d/served","value":%t}]`, n, strings.Contains(versions, version))
					kube.Patch(t, crds, "goods."+test.namespace+".example.com", types.JSONPatchType, []byte(patch))
				}
			}
			serveOnly(test.served)
			if test.broken {
				serveNothing(t, "v3", test.namespace+".example.com")
			}
			var removal deploy.Removal
			i := prepared(t, c, b, o)
			e.eventually(t, "the removal knows what is served", func() bool {
				var err error
				removal, err = c.Removal(t.Context(), i, false)
				return err == nil && test.says == "" || err != nil && test.says != "" && strings.Contains(err.Error(), test.says)
			})
			if test.says != "" {
				serveOnly("v2")
				e.eventually(t, "the object is served again", func() bool { return e.isThere(t, good) })
				return
			}
			_, err := c.Uninstall(t.Context(), i, agreedRemoval(t, removal))
			must(t, err)
			installtest.Same(t, "the object exists", false, e.isThere(t, good))
		})
	}
}

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	must(t, yaml.Unmarshal([]byte(text), o))
	return o
}

// serveNothing registers a version of a group whose server does not exist.
func serveNothing(t *testing.T, version, group string) {
	t.Helper()
	client := installtest.OrPanic(aggregator.NewForConfig(cluster.Config()))
	services := client.ApiregistrationV1().APIServices()
	kube.Create(t, services, &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: version + "." + group},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: group, Version: version, GroupPriorityMinimum: 1000, VersionPriority: 15, InsecureSkipTLSVerify: true,
			Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "nobody"},
		},
	})
	t.Cleanup(func() { _ = services.Delete(t.Context(), version+"."+group, metav1.DeleteOptions{}) })
}

// A definition whose objects no server serves does not block its operator's removal: one never served has none.
func TestRemovalsOfWhatIsNotServed(t *testing.T) {
	e := newEnv(t)
	crd := e.defineVersions(t, "absentees", map[string]string{"v1": schemas["anything"]})
	taken := crd.DeepCopy()
	taken.ObjectMeta = metav1.ObjectMeta{Name: "latecomers." + crd.Spec.Group}
	taken.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "latecomers", Singular: "latecomer", Kind: crd.Spec.Names.Kind, ListKind: crd.Spec.Names.ListKind}
	taken.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	client := installtest.OrPanic(apiextensions.NewForConfig(cluster.Config()))
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
		config  *rest.Config
		crd     *apiextensionsv1.CustomResourceDefinition
		message string
	}{
		"never, as its kind is taken": {cluster.Config(), taken, "with no objects"},
		"not yet, after a change":     {notYet, crd, "with an unknown number of objects, which cannot be read now"},
	} {
		t.Run(name, func(t *testing.T) {
			c := installtest.OrPanic(installer.New(test.config))
			i := installer.Installation{Bundle: bundleWith(t, test.crd), Manifests: manifestsOf(t, test.crd), Timeout: long, Print: t.Logf, Adopted: []string{deploy.Reference(definition(t, test.crd))}}
			removal := removalOf(t, c, i, true)
			installtest.Among(t, removal.Messages, "CustomResourceDefinition "+test.crd.Name+" is deleted, "+test.message)
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
