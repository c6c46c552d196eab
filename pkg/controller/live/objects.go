package live

import (
	"context"
	"maps"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/failopen"
)

// manyDefinitions is from how many names on one list is read in place of each definition.
const manyDefinitions = 100

// Definitions returns existing definitions by name. Clients choose the names: an impossible one is no error.
func (r *Reader) Definitions(ctx context.Context, names []string) (map[string]*apiextensionsv1.CustomResourceDefinition, error) {
	if len(names) > manyDefinitions {
		all, err := r.AllDefinitions(ctx)
		wanted := sets.New(names...)
		maps.DeleteFunc(all, func(name string, _ *apiextensionsv1.CustomResourceDefinition) bool { return !wanted.Has(name) })
		return all, err
	}
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, name := range names {
		if !canExist(name) {
			continue
		}
		crd, err := r.Extensions.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			all[name] = crd
		} else if !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	return all, nil
}

// AllDefinitions returns all definitions by name.
func (r *Reader) AllDefinitions(ctx context.Context) (map[string]*apiextensionsv1.CustomResourceDefinition, error) {
	list, err := r.Extensions.ApiextensionsV1().CustomResourceDefinitions().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, crd := range Pointers(list.Items) {
		all[crd.Name] = crd
	}
	return all, nil
}

// canExist reports whether an object can have a name. Clients refuse to ask for other names.
func canExist(name string) bool { return name != "" && len(content.IsPathSegmentName(name)) == 0 }

// countTime is how long the objects of all definitions may take to be counted. Other decisions of the reconciliation wait, such as the end
// of an opening, and an API server waits up to 30 s for each conversion that is not answered.
const countTime = 10 * time.Second

// CountObjects assumes some objects if they cannot be listed in time, for example because their conversion fails.
func (r *Reader) CountObjects(ctx context.Context, crds map[string]*apiextensionsv1.CustomResourceDefinition, unknown []string, objects map[string]int) {
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	for _, name := range unknown {
		crd := crds[name]
		resource := schema.GroupVersionResource{Group: crd.Spec.Group, Version: storedversions.Readable(crd), Resource: crd.Spec.Names.Plural}
		list, err := r.Metadata.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			r.Log.WithError(err).WithField("crd", name).Warn("cannot see whether there are objects")
		}
		switch {
		case err != nil, list.Continue != "" && list.RemainingItemCount == nil:
			objects[name] = conversion.SomeObjects
		case list.RemainingItemCount != nil:
			objects[name] = len(list.Items) + int(*list.RemainingItemCount)
		default:
			objects[name] = len(list.Items)
		}
	}
}

// EndpointSlices reads those of some Services: a cache may be late. All answers have the time of the last one: otherwise, with many
// Services, the first answer would be too old when the last one arrives.
func (r *Reader) EndpointSlices(ctx context.Context, namespace string, services []string, now func() time.Time) (decide.Confirmed, error) {
	read := map[string][]*discoveryv1.EndpointSlice{}
	for _, service := range services {
		list, err := r.Kube.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
		if err != nil {
			return nil, err
		}
		read[service] = Pointers(list.Items)
	}
	confirmed, at := decide.Confirmed{}, now()
	for service, all := range read {
		confirmed[service] = failopen.Answer{Slices: all, At: at}
	}
	return confirmed, nil
}
