package installer

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/show"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// Shown is an installation whose notice was printed. Only Show returns one, and nothing is planned without it.
type Shown struct {
	installation Installation
	out          output.Writer
}

// Installation is the one that was shown.
func (s Shown) Installation() Installation { return s.installation }

// Show prints what an administrator has to agree with.
func Show(out output.Writer, i Installation) Shown {
	if i.NamespaceWarning != "" {
		out.Printf("warning: %s\n", i.NamespaceWarning)
	}
	result := i.Result
	if result == nil {
		result = i.Manifests
	}
	ShowNotice(out, i.Bundle, result)
	if suggested := i.Bundle.AuthorsNamespace(); suggested != "" && suggested != i.Namespace() {
		out.Printf("warning: the bundle suggests namespace %s, and the namespace of this command is %s\n", suggested, i.Namespace())
	}
	if i.KeptGroup != "" {
		out.Printf("%s\n", i.KeptGroup)
	}
	return Shown{i, out}
}

// ShowNotice prints what a bundle intercepts, grants and creates, and what of it is refused.
func ShowNotice(out output.Writer, b *bundle.Bundle, manifests []*unstructured.Unstructured, refusals ...bundle.Refusal) {
	out.Printf("%s, from %s\n", b.CSV.Name, b.Source)
	for _, p := range b.Problems {
		out.Printf("warning: %s\n", p)
	}
	show.Of(b, manifests, refusals...).PrintNotice(out)
}

// Confirmed is a plan that the user has confirmed. Only Plan.Confirm returns one, and Install takes nothing else.
type Confirmed struct{ plan Plan }

// Confirm asks about a plan that may be executed. The question returns an error if the answer is no.
func (p Plan) Confirm(question func() error) (Confirmed, error) {
	if err := p.Err(); err != nil {
		return Confirmed{}, err
	}
	if foreign := deploy.Unadopted(p.steps, p.Adopted); len(foreign) > 0 {
		return Confirmed{}, errors.New(foreign[0].Describe())
	}
	if err := question(); err != nil {
		return Confirmed{}, err
	}
	return Confirmed{p}, nil
}

// ShownRemoval is a removal that was printed. Only ShowRemoval returns one.
type ShownRemoval struct{ removal deploy.Removal }

// ShowRemoval prints what stays and what is deleted.
func ShowRemoval(out output.Writer, removal deploy.Removal) ShownRemoval {
	for _, line := range removal.Messages {
		out.Printf("%s\n", line)
	}
	for _, object := range removal.Delete {
		out.Printf("to be removed: %s\n", removal.Line(object))
	}
	return ShownRemoval{removal}
}

// ConfirmedRemoval is a removal that the user has confirmed. Only ShownRemoval.Confirm returns one.
type ConfirmedRemoval struct{ removal deploy.Removal }

// Confirm asks about the removal, and then about definitions, which are deleted with all their objects.
func (s ShownRemoval) Confirm(question, ofDefinitions func() error) (ConfirmedRemoval, error) {
	if err := question(); err != nil {
		return ConfirmedRemoval{}, err
	}
	if s.removal.Definitions > 0 {
		if err := ofDefinitions(); err != nil {
			return ConfirmedRemoval{}, err
		}
	}
	return ConfirmedRemoval(s), nil
}
