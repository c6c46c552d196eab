package drill

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

// builder makes the graph of a snapshot.
type builder struct {
	graph
	Snapshot

	explainer *explain.Explainer
	questions []explain.Access
	node      string // the name of a Node

	manager, scheduler, nodes int
	workloads                 []workload
	workloadParts             []int
	roles                     map[Role][]int
}

// build returns the graph, and what the authorizer was asked.
func build(s Snapshot) (graph, []explain.Access, error) {
	b := &builder{
		graph:     graph{webhooks: map[[3]string]int{}, services: map[types.NamespacedName]int{}},
		Snapshot:  s,
		explainer: explain.NewExplainer(failingClosed(s.Admission)),
		workloads: s.workloads(), roles: map[Role][]int{},
	}
	b.declare()
	err := b.connect()
	return b.graph, b.questions, err
}

// declare adds all parts, so that needs can name them.
func (b *builder) declare() {
	b.manager = b.add(part{Part: Part{Kind: ControlPlane, Name: controllerManagerName}})
	b.scheduler = b.add(part{Part: Part{Kind: ControlPlane, Name: schedulerName}})
	b.nodes = b.add(part{Part: Part{Kind: Nodes}})
	for _, w := range b.workloads {
		i := b.add(part{Part: w.Part})
		b.workloadParts = append(b.workloadParts, i)
		if w.Role != "" {
			b.roles[w.Role] = append(b.roles[w.Role], i)
		}
	}
	registered := doctor.Webhooks(b.Admission.ValidatingWebhooks, b.Admission.MutatingWebhooks, b.Admission.Definitions)
	for _, w := range registered {
		if !w.Fails || w.Idle() {
			continue
		}
		i := b.add(part{Part: Part{Kind: w.Kind, Name: w.Object, Webhook: w.Name}, outside: w.URL != ""})
		b.webhooks[[3]string{w.Kind, w.Object, w.Name}] = i
		if w.URL == "" {
			b.need(i, "its Service has no ready endpoint", b.service(w.Service))
		}
	}
	for _, a := range b.APIServices {
		if ref := a.Spec.Service; ref != nil {
			i := b.add(part{Part: Part{Kind: doctor.APIService, Name: a.Name}})
			b.webhooks[[3]string{doctor.APIService, a.Name}] = i
			b.need(i, "its Service has no ready endpoint", b.service(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}))
		}
	}
}

func (b *builder) service(name types.NamespacedName) int {
	i, exists := b.services[name]
	if !exists {
		i = b.add(part{Part: Part{Kind: "Service", Namespace: name.Namespace, Name: name.Name}})
		b.services[name] = i
	}
	return i
}

func (b *builder) connect() error {
	if err := b.connectControlPlane(); err != nil {
		return err
	}
	for i, w := range b.workloads {
		if err := b.connectWorkload(b.workloadParts[i], w); err != nil {
			return err
		}
	}
	for i, p := range b.parts {
		if p.Kind != "Service" {
			continue
		}
		if err := b.connectService(i, types.NamespacedName{Namespace: p.Namespace, Name: p.Name}); err != nil {
			return err
		}
	}
	b.callOutside()
	return nil
}

// callOutside marks the webhooks and APIServices at Services that are not of the cluster.
func (b *builder) callOutside() {
	for _, i := range b.webhooks {
		for _, n := range b.parts[i].needs {
			b.parts[i].outside = slices.ContainsFunc(n.any, func(service int) bool { return b.parts[service].outside })
		}
	}
}

func (b *builder) connectControlPlane() error {
	if err := b.requests(b.manager, append(b.leadership(controllerManagerName, controllerManager), b.controllerTokens()...)); err != nil {
		return err
	}
	if err := b.requests(b.scheduler, b.leadership(schedulerName, scheduler)); err != nil {
		return err
	}
	var all []int
	for _, n := range b.Nodes {
		i := b.add(part{Part: Part{Kind: "Node", Name: n.Name}})
		b.need(i, "no controller sees that it is Ready", b.manager)
		if err := b.requests(i, b.heartbeat(n)); err != nil {
			return err
		}
		all = append(all, i)
	}
	b.node = "node"
	if len(b.Nodes) > 0 {
		b.node = b.Nodes[0].Name
		b.need(b.nodes, "no Node is Ready", all...)
	}
	return nil
}

func (b *builder) connectWorkload(i int, w workload) error {
	if w.lost {
		b.need(i, "it has no controller that creates it again")
		return nil
	}
	if !w.static {
		b.need(i, "no controller creates pods", b.manager)
		b.need(i, "no scheduler runs", b.scheduler)
		b.need(i, "no Node is Ready", b.nodes)
	}
	if !w.pod.Spec.HostNetwork {
		for _, network := range b.roles[Network] {
			b.need(i, "the network of pods is not set up", network)
		}
	}
	b.needOwner(i, w)
	return b.requests(i, b.Snapshot.requests(w, b.node))
}

// needOwner adds what the API of a custom owner needs: its controller cannot read the owner otherwise.
func (b *builder) needOwner(i int, w workload) {
	for _, crd := range b.Admission.Definitions {
		if crd.Spec.Group != w.owner.Group || crd.Spec.Names.Kind != w.owner.Kind || !converts(crd) {
			continue
		}
		if conversion, exists := b.webhooks[[3]string{doctor.Conversion, crd.Name, ""}]; exists {
			b.parts[i].needs = append(b.parts[i].needs, need{any: []int{conversion}, because: "objects of its owner's kind may have to be converted"})
		}
	}
	for _, a := range b.APIServices {
		if a.Spec.Service != nil && a.Spec.Group == w.owner.Group {
			b.need(i, "its owner's API is not served", b.webhooks[[3]string{doctor.APIService, a.Name}])
		}
	}
}

func converts(crd apiextensionsv1.CustomResourceDefinition) bool {
	return crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter && len(crd.Spec.Versions) > 1
}

func (b *builder) connectService(i int, name types.NamespacedName) error {
	at := slices.IndexFunc(b.Services, func(s corev1.Service) bool { return s.Name == name.Name && s.Namespace == name.Namespace })
	if at < 0 {
		b.need(i, "it does not exist")
		return nil
	}
	service := b.Services[at]
	if len(service.Spec.Selector) == 0 || route.Of(&service) == route.ByExternalName {
		b.parts[i].outside = true
		return nil
	}
	var behind []int
	selector := labels.SelectorFromSet(service.Spec.Selector)
	for j, w := range b.workloads {
		if w.Namespace == name.Namespace && selector.Matches(labels.Set(w.pod.Labels)) {
			behind = append(behind, b.workloadParts[j])
			if w.Role != "" {
				b.parts[i].Role = w.Role
			}
		}
	}
	because := "none of its pods is ready"
	if len(behind) == 0 {
		because = "no workload with replicas has pods that it selects"
	}
	b.need(i, because, behind...)
	b.need(i, "no controller writes its endpoints", b.manager)
	if proxies := b.roles[KubeProxy]; len(proxies) > 0 {
		b.need(i, "kube-proxy does not run", proxies...)
	}
	return b.requests(i, []request{b.endpointsOf(service)})
}

// requests adds the webhooks that see the requests of a part.
func (b *builder) requests(i int, all []request) error {
	for _, r := range all {
		explained, err := r.explained()
		if err != nil {
			return err
		}
		steps, err := b.explainer.Explain(explained)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", b.parts[i], r, err)
		}
		b.questions = append(b.questions, steps.Questions...)
		for _, step := range steps.Steps {
			if n, needed := b.needOf(r, step); needed {
				b.parts[i].needs = append(b.parts[i].needs, n)
			}
		}
	}
	return nil
}

func (b *builder) needOf(r request, step explain.Step) (need, bool) {
	switch step.Verdict {
	case explain.Sees:
		return need{any: b.registered(step), request: &r, certain: !r.someUser}, true
	case explain.Unknown:
		return need{any: b.registered(step), request: &r}, true
	case explain.Refuses:
		return need{certain: !r.someUser, because: fmt.Sprintf("%s is always refused: %s %s: webhook %s: %s", r, step.Kind, step.Object, step.Name, step.Reason)}, true
	default:
		return need{}, false
	}
}

func (b *builder) registered(step explain.Step) []int {
	return []int{b.webhooks[[3]string{step.Kind, step.Object, step.Name}]}
}
