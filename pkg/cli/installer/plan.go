package installer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy/validation"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
)

// Plan is what an installation does to each object, once everything that can be checked is checked.
// Only Installer.Plan fills one: no object is written before the check.
type Plan struct {
	Installation
	steps []deploy.Step
	// answers are the objects as the API server would store them; nil where it could not be asked.
	answers []*unstructured.Unstructured
	refused []error // nil for what is not refused
	awaited map[string][]string
	record  deploy.Record
}

// Steps are what is done to each object, in this order.
func (p Plan) Steps() []deploy.Step { return slices.Clone(p.steps) }

// Err is what the API server, or the check of what it cannot be asked about, refuses.
func (p Plan) Err() error {
	if err := errors.Join(p.refused...); err != nil {
		return fmt.Errorf("the API server refuses:\n%w", err)
	}
	return nil
}

// Plan decides about each object of an installation, by its record and by a dry run, and prints what changes.
func (c *Installer) Plan(ctx context.Context, s Shown) (Plan, error) {
	p, err := c.plan(ctx, s.installation)
	if err != nil {
		return p, err
	}
	if err := c.PrintReplaced(ctx, s); err != nil {
		return p, err
	}
	for _, change := range deploy.Changes(p.steps, p.Adopted) {
		s.out.Printf("%s\n", change)
	}
	return p, nil
}

// PrintReplaced prints the installed versions that the manager deletes after the installation.
func (c *Installer) PrintReplaced(ctx context.Context, s Shown) error {
	csv := s.installation.CSV()
	names := lineage.Replaced(csv)
	if len(names) == 0 {
		return nil
	}
	replaced, err := c.operators.versions(ctx, csv.Namespace, names)
	for _, other := range replaced {
		s.out.Printf("to be replaced and deleted: %s\n", deploy.Title(deploy.CSVObject(&other)))
	}
	return err
}

func (c *Installer) plan(ctx context.Context, i Installation) (Plan, error) {
	p := Plan{Installation: i}
	if err := c.CheckDefinitions(ctx, i.Bundle); err != nil {
		return p, err
	}
	a, err := c.applier(ctx)
	if err != nil {
		return p, err
	}
	if p.awaited, err = c.awaited(ctx, i); err != nil {
		return p, err
	}
	if p.record, err = c.records.of(ctx, i); err != nil {
		return p, err
	}
	for _, o := range i.Objects() {
		if deploy.IsRecord(o) {
			return p, fmt.Errorf("%s of the bundle has the name of an installation's record: remove it from the bundle, or rename it", deploy.Title(o))
		}
		step, answer, refused, err := c.step(ctx, a, p, o)
		if err != nil {
			return p, err
		}
		p.steps, p.answers = append(p.steps, step), append(p.answers, answer)
		p.refused = append(p.refused, refused)
	}
	denied, err := a.denied(ctx, p)
	if err != nil {
		return p, err
	}
	p.refused = append(p.refused, denied...)
	refused, err := c.dryRunRecord(ctx, a, p)
	p.refused = append(p.refused, refused)
	return p, err
}

// step decides about one object. An answer is what the API server would store; refused is why it would not.
func (c *Installer) step(ctx context.Context, a applier, p Plan, o *unstructured.Unstructured) (s deploy.Step, answer *unstructured.Unstructured, refused, err error) {
	missing, err := a.missing(ctx, o)
	if err != nil {
		return s, nil, nil, err
	}
	if missing != "" {
		s = deploy.StepOf(p.record.Annotate(o, nil), nil, nil, p.record)
		s.Unchecked = missing
		refused, err = a.validate(ctx, p, o, missing)
		return s, nil, refused, err
	}
	live, err := a.live(ctx, o)
	if err != nil {
		return s, nil, nil, err
	}
	o = p.record.Annotate(o, live)
	s = deploy.StepOf(o, live, nil, p.record)
	answer, refused = c.apply(ctx, a, p, s, metav1.DryRunAll)
	if apierrors.HasStatusCause(refused, metav1.CauseTypeFieldManagerConflict) {
		answer, refused = c.apply(ctx, a, p, s.AsContested(), metav1.DryRunAll)
		return deploy.StepOf(o, live, answer, p.record).AsContested(), answer, refused, nil
	}
	if refused != nil && p.createsRoleOf(o, refused) {
		s.Unchecked = "the role that it refers to"
		return s, nil, nil, nil
	}
	next := p.definition(o)
	if answer == nil || live == nil || next == nil {
		return deploy.StepOf(o, live, answer, p.record), answer, refused, nil
	}
	final, err := c.finalDefinition(ctx, p, s, next, answer)
	if err != nil {
		return s, nil, nil, err
	}
	if s, err = p.converted(deploy.StepOf(o, live, final, p.record), next); err == nil && s.Action == deploy.Update && len(s.Changed) > 0 {
		s, err = a.contested(ctx, s, final)
	}
	return s, answer, nil, err
}

func (a applier) validate(ctx context.Context, p Plan, o *unstructured.Unstructured, missing string) (refused, err error) {
	definition, err := a.definitionOf(ctx, p, o)
	if err != nil {
		return nil, err
	}
	refused = validation.ValidateManifest(ctx, o, definition, p.creates(missing))
	if refused == nil && definition == nil {
		return a.dryRunInDefault(ctx, o)
	}
	return refused, nil
}

func (p Plan) converted(s deploy.Step, next *apiextensionsv1.CustomResourceDefinition) (deploy.Step, error) {
	live := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(s.Live.Object, live); err != nil {
		return s, fmt.Errorf("%s: %w", deploy.Title(s.Object), err)
	}
	s.KeptConversion = deploy.KeepsConversion(live, next, p.CSV())
	if s.Action != deploy.Overwrite && deploy.TakesConversion(live, next, p.CSV()) {
		s = s.AsContested()
	}
	return s, nil
}

// finalDefinition is a definition as it will be once the operator is installed. Where the API server refuses that now, since
// it may take it once the operator serves, it is the answer for the definition until then; nil if that changes nothing.
func (c *Installer) finalDefinition(ctx context.Context, p Plan, s deploy.Step, next *apiextensionsv1.CustomResourceDefinition, answer *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	written, err := c.definitions.define(ctx, s, deploy.Settled, next, p.CSV(), metav1.DryRunAll)
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsInternalError(err) {
		if deploy.StepOf(s.Object, s.Live, answer, deploy.Record{}).Action == deploy.Keep {
			return nil, nil
		}
		return answer, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", deploy.Title(s.Object), err)
	}
	return definitionObject(written)
}

// createsRoleOf reports whether a dry run of a binding failed because the installation creates the role itself.
func (p Plan) createsRoleOf(o *unstructured.Unstructured, err error) bool {
	if groupkind.Of(o).Group != rbacv1.GroupName || !apierrors.IsNotFound(err) {
		return false
	}
	kind, _, _ := unstructured.NestedString(o.Object, "roleRef", "kind")
	name, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
	return slices.ContainsFunc(p.Objects(), func(role *unstructured.Unstructured) bool {
		return groupkind.Of(role) == schema.GroupKind{Group: rbacv1.GroupName, Kind: kind} && role.GetName() == name &&
			(role.GetNamespace() == "" || role.GetNamespace() == o.GetNamespace())
	})
}

func (p Plan) creates(missing string) bool {
	return missing == "namespace "+p.Namespace() || slices.ContainsFunc(p.Bundle.CRDs(), func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return missing == missingDefinition(kindOf(crd))
	})
}

// definitionOf is the bundle's or the cluster's definition of an object's kind; nil for a kind of Kubernetes itself.
func (a applier) definitionOf(ctx context.Context, p Plan, o *unstructured.Unstructured) (*apiextensionsv1.CustomResourceDefinition, error) {
	kind := o.GroupVersionKind()
	if crd := p.definitionOf(kind.GroupKind()); crd != nil {
		return crd, nil
	}
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return a.definitions.get(ctx, mapping.Resource.GroupResource().String())
}
