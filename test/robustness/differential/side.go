package differential

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// side is one of the two API servers.
type side struct {
	client    dynamic.Interface
	namespace string
	versions  map[string][]string // observed resourceVersions, by name
	uids      map[string]types.UID
}

func newSide(config *rest.Config, namespace string) (*side, error) {
	client, err := dynamic.NewForConfig(config)
	return &side{client: client, namespace: namespace, versions: map[string][]string{}, uids: map[string]types.UID{}}, err
}

// do sends the request of a step.
func (s *side) do(ctx context.Context, step step) answer {
	result, err := s.send(ctx, step)
	if err == nil && !step.dryRun && !step.lists() && step.subresource != "scale" {
		if step.kind.name == definition.name {
			result = s.settled(ctx, step)
		}
		s.observe(step.name, result)
	}
	return newAnswer(step, result, err)
}

func (s *side) observe(name string, o *unstructured.Unstructured) {
	if o == nil || o.GetResourceVersion() == "" {
		return // a deletion
	}
	s.versions[name] = append(s.versions[name], o.GetResourceVersion())
	s.uids[name] = o.GetUID()
}

func (s *side) resource(k kind) dynamic.ResourceInterface {
	if k.namespaced {
		return s.client.Resource(k.resource).Namespace(s.namespace)
	}
	return s.client.Resource(k.resource)
}

func (s *side) send(ctx context.Context, step step) (*unstructured.Unstructured, error) {
	resource, subresources := s.resource(step.kind), []string(nil)
	if step.subresource != "" {
		subresources = []string{step.subresource}
	}
	var dryRun []string
	if step.dryRun {
		dryRun = []string{metav1.DryRunAll}
	}
	name := step.objectName()
	switch step.verb {
	case "create":
		return resource.Create(ctx, s.body(step), metav1.CreateOptions{FieldManager: step.manager, DryRun: dryRun})
	case "update":
		return resource.Update(ctx, s.body(step), metav1.UpdateOptions{FieldManager: step.manager, DryRun: dryRun}, subresources...)
	case "apply":
		options := metav1.PatchOptions{FieldManager: step.manager, DryRun: dryRun, Force: &step.force}
		return resource.Patch(ctx, name, types.ApplyPatchType, encode(s.body(step).Object), options, subresources...)
	case "patch":
		return resource.Patch(ctx, name, step.patchType, step.patch, metav1.PatchOptions{FieldManager: step.manager, DryRun: dryRun}, subresources...)
	case "delete":
		return nil, resource.Delete(ctx, name, s.deletion(step, dryRun))
	case "deletecollection":
		selected := metav1.ListOptions{LabelSelector: "tier=a"}
		return nil, resource.DeleteCollection(ctx, metav1.DeleteOptions{DryRun: dryRun, PropagationPolicy: step.propagation}, selected)
	case "list", "pages", "exact":
		return s.list(ctx, resource, step)
	default:
		return resource.Get(ctx, name, metav1.GetOptions{})
	}
}

func (s step) objectName() string {
	return s.kind.base(s.name)["metadata"].(object)["name"].(string)
}

func (s *side) body(step step) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: copyOf(step.body)}
	if version := s.version(step); version != "" && step.verb != "create" {
		o.SetResourceVersion(version)
	}
	return o
}

// version is empty if no version is asked for, or too few were observed.
func (s *side) version(step step) string {
	all := s.versions[step.name]
	if step.version < 0 || step.version >= len(all) {
		return ""
	}
	return all[len(all)-1-step.version]
}

func (s *side) deletion(step step, dryRun []string) metav1.DeleteOptions {
	options := metav1.DeleteOptions{DryRun: dryRun, PropagationPolicy: step.propagation, Preconditions: &metav1.Preconditions{}}
	if version := s.version(step); version != "" {
		options.Preconditions.ResourceVersion = &version
	}
	switch uid := s.uids[step.name]; {
	case step.uid == "wrong":
		options.Preconditions.UID = new(types.UID("00000000-0000-0000-0000-000000000000"))
	case step.uid == "right" && uid != "":
		options.Preconditions.UID = &uid
	}
	return options
}

// settled returns a definition after its controllers have written its status, or removed it; nil if it is deleted.
func (s *side) settled(ctx context.Context, step step) *unstructured.Unstructured {
	var current *unstructured.Unstructured
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		var err error
		current, err = s.resource(step.kind).Get(ctx, step.objectName(), metav1.GetOptions{})
		return apierrors.IsNotFound(err) || err == nil && isSettled(current), nil
	})
	if err != nil {
		panic("the controllers of definitions do not work")
	}
	return current
}

func isSettled(definition *unstructured.Unstructured) bool {
	if definition.GetDeletionTimestamp() != nil {
		return !slices.Contains(definition.GetFinalizers(), "customresourcecleanup.apiextensions.k8s.io")
	}
	// A write of the status can remove what the controllers then add again, one after the other.
	if names, _, _ := unstructured.NestedMap(definition.Object, "status", "acceptedNames"); names["listKind"] == nil {
		return false
	}
	return isTrue(definition, "NamesAccepted") && isTrue(definition, "Established")
}

func isTrue(definition *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool { return c.(object)["type"] == kind && c.(object)["status"] == "True" })
}
