package bundle

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var quoted = regexp.MustCompile("`kubectl webhooks ([^`]+)`")

// A client that follows a refusal literally can upgrade: a version with stored objects is removed, and they stay.
func TestTheWayOutOfAVanishingVersion(t *testing.T) {
	t.Parallel()
	e, c := newEnvWithInstaller(t)
	client := installtest.OrPanic(apiextensions.NewForConfig(cluster.Config()))
	both := map[string]string{"v1": schemas["anything"], "v2": schemas["anything"]}
	for plural, test := range map[string]struct {
		live  map[string]string
		first string // what has to be done before the command
	}{
		"roads": {both, ""},
		"lanes": {map[string]string{"v1": schemas["anything"]}, "upgrade first to a bundle that serves both v1 and v2"},
	} {
		t.Run(plural, func(t *testing.T) {
			t.Parallel()
			crd := e.defineVersions(t, plural, test.live)
			object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": crd.Spec.Group + "/v1", "kind": crd.Spec.Names.Kind, "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"size": int64(7)}}}
			must(t, e.create(t.Context(), object, false))
			between := crd.DeepCopy()
			between.Spec.Versions = versionsOf(t, both)
			next := crd.DeepCopy()
			next.Spec.Versions = between.DeepCopy().Spec.Versions[1:]
			next.Spec.Versions[0].Storage = true

			refusal := c.CheckDefinitions(t.Context(), bundleWith(t, next))
			says(t, refusal, "version v1 vanishes", test.first)
			if test.first != "" {
				must(t, c.CheckDefinitions(t.Context(), bundleWith(t, between)))
				e.redefine(t, client, between)
			}
			command := quoted.FindStringSubmatch(fmt.Sprint(refusal))
			if command == nil {
				t.Fatalf("it names no command: %v", refusal)
			}
			if output, err := webhooks(t, append(strings.Fields(command[1]), "--api-servers="+serverAddress(t), "--api-server-request-timeout=1s")...).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", command[0], err, output)
			}
			must(t, c.CheckDefinitions(t.Context(), bundleWith(t, next)))
			e.redefine(t, client, next)
			object.SetAPIVersion(crd.Spec.Group + "/v2")
			resource := e.client(t, object)
			e.eventually(t, "the object is read in the version that stays", func() bool {
				live, err := resource.Get(t.Context(), "a", metav1.GetOptions{})
				if err != nil {
					return false
				}
				size, _, err := unstructured.NestedInt64(live.Object, "spec", "size")
				return err == nil && size == 7
			})
		})
	}
}

// redefine gives a definition the versions of another, as an upgrade does, and waits until the last is served.
func (e *env) redefine(t *testing.T, client apiextensions.Interface, next *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	definitions := client.ApiextensionsV1().CustomResourceDefinitions()
	live := kube.Get(t, definitions, next.Name)
	live.Spec.Versions = next.Spec.Versions
	kube.Update(t, definitions, live)
	e.served(t, next)
}

// serverAddress is the address of the only API server: the Service kubernetes has no EndpointSlices
// here, which list the addresses in a cluster.
func serverAddress(t *testing.T) string {
	t.Helper()
	address := installtest.OrPanic(url.Parse(cluster.Config().Host))
	return address.Host
}
