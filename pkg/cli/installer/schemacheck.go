package installer

import (
	"context"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy/validation"
)

// CheckDefinitions returns which definitions of the cluster cannot become the bundle's without a loss.
func (c *Installer) CheckDefinitions(ctx context.Context, b *bundle.Bundle) error {
	var refusals []error
	for _, next := range b.CRDs() {
		live, err := c.definitions.get(ctx, next.Name)
		if err != nil {
			return err
		}
		for _, refusal := range deploy.Refusals(live, next) {
			refusals = append(refusals, errors.New(refusal))
		}
		if live == nil {
			continue
		}
		for _, r := range deploy.Readings(live, next, b.CSV) {
			refusals = append(refusals, checkObjects(ctx, c.Dynamic, live, next, r))
		}
	}
	return errors.Join(refusals...)
}

const (
	pageSize       = 500 // objects that are read at a time: of a million, no more are held
	listedRefusals = 10  // refused objects that are listed one by one
)

func checkObjects(ctx context.Context, objects dynamic.Interface, live, next *apiextensionsv1.CustomResourceDefinition, r deploy.Reading) error {
	validator, err := validation.NewValidator(next, r)
	if err != nil {
		return err
	}
	resource := objects.Resource(resourceOf(live, r.Version))
	var all []error
	more := 0
	for options := (metav1.ListOptions{Limit: pageSize}); ; {
		list, err := resource.List(ctx, options)
		if err != nil {
			return fmt.Errorf("the objects of %s could not be read, so whether the next schema refuses them is not known: %w", live.Name, err)
		}
		for _, refusal := range validator.Validate(ctx, list.Items) {
			if len(all) < listedRefusals {
				all = append(all, errors.New(refusal))
			} else {
				more++
			}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			break
		}
	}
	if more > 0 {
		all = append(all, fmt.Errorf("%d more objects of %s like these", more, live.Name))
	}
	return errors.Join(all...)
}
