package installer

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
)

type applier struct {
	dynamic     dynamic.Interface
	mapper      *restmapper.DeferredDiscoveryRESTMapper
	discovery   discovery.DiscoveryInterface
	kube        kubernetes.Interface
	definitions definitionStore
}

// applier returns an applier whose discovery ends with a context.
func (c *Installer) applier(ctx context.Context) (applier, error) {
	client, err := cluster.Discovery(ctx, c.Config)
	if err != nil {
		return applier{}, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	return applier{c.Dynamic, mapper, client, c.Kube, c.definitions}, nil
}

// absent is a resourceVersion that no object has: etcd gives the first write the revision 2. An object that is
// applied with it is created, or refused as a conflict where it exists.
const absent = "1"

// apply writes the object of a step by server-side apply, and returns the result. A field that another client set is a
// conflict unless the object was adopted. An object that was created or replaced since, or is to be overwritten and was
// changed since, is a conflict, too.
func (a applier) apply(ctx context.Context, s deploy.Step, dryRun ...string) (*unstructured.Unstructured, error) {
	o := s.Object.DeepCopy()
	if s.Live == nil {
		o.SetResourceVersion(absent)
	} else {
		o.SetUID(s.Live.GetUID())
		if s.Action == deploy.Overwrite && len(dryRun) == 0 {
			o.SetResourceVersion(s.Live.GetResourceVersion())
		}
	}
	client, err := a.clientFor(ctx, o)
	if err == nil {
		var applied *unstructured.Unstructured
		if applied, err = client.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: deploy.FieldManager, DryRun: dryRun, Force: s.Action == deploy.Overwrite}); err == nil {
			if s.Live == nil && len(dryRun) > 0 {
				applied.SetResourceVersion("") // It is the one that was sent.
			}
			return applied, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", deploy.Title(o), err)
}

// Scopes asks the API server which of these kinds are namespaced. It omits unknown kinds.
func (c *Installer) Scopes(ctx context.Context, kinds []schema.GroupKind) (map[schema.GroupKind]bool, error) {
	a, err := c.applier(ctx)
	if err != nil {
		return nil, err
	}
	namespaced := map[schema.GroupKind]bool{}
	for _, kind := range kinds {
		mapping, err := a.mapper.RESTMapping(kind)
		switch {
		case meta.IsNoMatchError(err):
		case err != nil:
			return nil, err
		default:
			namespaced[kind] = mapping.Scope.Name() == meta.RESTScopeNameNamespace
		}
	}
	return namespaced, nil
}

func (a applier) hasKind(o *unstructured.Unstructured) bool {
	kind := o.GroupVersionKind()
	_, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	return !meta.IsNoMatchError(err)
}

// clientFor waits for a kind that a definition has just brought.
func (a applier) clientFor(ctx context.Context, o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := o.GroupVersionKind()
	var mapping *meta.RESTMapping
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		var err error
		if mapping, err = a.mapper.RESTMapping(kind.GroupKind(), kind.Version); meta.IsNoMatchError(err) {
			a.mapper.Reset()
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("the cluster does not know the kind %s: %w", kind.GroupKind(), err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return a.dynamic.Resource(mapping.Resource), nil
	}
	return a.dynamic.Resource(mapping.Resource).Namespace(o.GetNamespace()), nil
}

// apply opens a definition, and adds awaited versions to a ClusterServiceVersion.
func (c *Installer) apply(ctx context.Context, a applier, p Plan, s deploy.Step, dryRun ...string) (*unstructured.Unstructured, error) {
	if crd := p.definition(s.Object); crd != nil {
		return c.definitions.open(ctx, s, crd, p.CSV(), dryRun...)
	}
	if groupkind.Is(s.Object, groupkind.ClusterServiceVersion) {
		s.Object = withAwaitedVersions(s.Object, p.awaited)
	}
	return a.apply(ctx, s, dryRun...)
}

// missing is what has to exist before the API server can dry-run an object.
func (a applier) missing(ctx context.Context, o *unstructured.Unstructured) (string, error) {
	if !a.hasKind(o) {
		return missingDefinition(groupkind.Of(o)), nil
	}
	if o.GetNamespace() == "" {
		return "", nil
	}
	_, err := a.kube.CoreV1().Namespaces().Get(ctx, o.GetNamespace(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "namespace " + o.GetNamespace(), nil
	}
	return "", err
}

// dryRunInDefault dry-runs an object in another namespace while its own does not exist. refused holds for both.
func (a applier) dryRunInDefault(ctx context.Context, o *unstructured.Unstructured) (refused, err error) {
	if !a.hasKind(o) {
		return nil, nil
	}
	elsewhere := deploy.DryRunCopy(o)
	client, err := a.clientFor(ctx, elsewhere)
	if err != nil {
		return nil, err
	}
	_, answer := client.Apply(ctx, elsewhere.GetName(), elsewhere, metav1.ApplyOptions{FieldManager: deploy.FieldManager, DryRun: []string{metav1.DryRunAll}})
	return deploy.DryRunRefusal(o, answer), nil
}

func missingDefinition(kind schema.GroupKind) string { return "the definition of " + kind.String() }

func (a applier) live(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if groupkind.Is(o, groupkind.CustomResourceDefinition) {
		crd, err := a.definitions.get(ctx, o.GetName())
		if err != nil {
			return nil, err
		}
		return definitionObject(crd) // in the form in which it is compared
	}
	client, err := a.clientFor(ctx, o)
	if err != nil {
		return nil, err
	}
	live, err := orNil(client.Get(ctx, o.GetName(), metav1.GetOptions{}))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", deploy.Title(o), err)
	}
	return live, nil
}
