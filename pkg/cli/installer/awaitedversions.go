package installer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
)

// awaited are the versions, by definition, that are served only once the operator's webhook converts to them.
func (c *Installer) awaited(ctx context.Context, i Installation) (map[string][]string, error) {
	awaited := map[string][]string{}
	for _, next := range i.Bundle.CRDs() {
		live, err := c.definitions.get(ctx, next.Name)
		if err != nil {
			return nil, err
		}
		if versions := deploy.Awaited(live, next, i.CSV()); len(versions) > 0 {
			awaited[next.Name] = versions
		}
	}
	return awaited, nil
}

func awaitedNote(o *unstructured.Unstructured, awaited map[string][]string) string {
	versions := awaited[o.GetName()]
	if !groupkind.Is(o, groupkind.CustomResourceDefinition) || len(versions) == 0 {
		return ""
	}
	return fmt.Sprintf(", in which %s is not served before its webhook converts to it", strings.Join(versions, ", "))
}

func withAwaitedVersions(csv *unstructured.Unstructured, awaited map[string][]string) *unstructured.Unstructured {
	versions := deploy.AwaitedBy(awaited)
	if len(versions) == 0 {
		return csv
	}
	csv = csv.DeepCopy()
	csv.SetAnnotations(labels.Merge(csv.GetAnnotations(), map[string]string{wellknown.AnnotationAwaitedVersions: strings.Join(versions, ",")}))
	return csv
}

func (v *watch) replaced(live *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(v.applied, func(o *unstructured.Unstructured) bool {
		return groupkind.Is(o, groupkind.CustomResourceDefinition) && o.GetName() == live.Name && o.GetUID() != live.UID
	})
}

// serve adds awaited versions that a webhook converts to, with the conversion that was read, if the definition is
// unchanged. early: also versions for which pods of the webhook may wait.
func (v *watch) serve(ctx context.Context, l deploy.Observation, early bool) (served bool, err error) {
	for _, next := range v.Bundle.CRDs() {
		versions, awaited := v.awaited[next.Name]
		if !awaited {
			continue
		}
		live, err := v.definitions.get(ctx, next.Name)
		if err != nil {
			return served, err
		}
		if live == nil || v.replaced(live) {
			continue
		}
		why := "which its webhook converts to"
		if !l.Converts(live) {
			deployment := l.WaitsForVersions(live.Name)
			if !early || deployment == "" {
				continue
			}
			why = fmt.Sprintf("for which Deployment %s may be waiting: requests in it fail until its webhook serves", deployment)
		}
		_, err = v.definitions.change(ctx, live, deploy.Serving(live, next, v.CSV()))
		if apierrors.IsConflict(err) {
			continue // the next poll reads the new state
		}
		if err != nil {
			return served, fmt.Errorf("CustomResourceDefinition %s: %w", next.Name, err)
		}
		delete(v.awaited, next.Name)
		v.Print("CustomResourceDefinition %s serves %s, %s", live.Name, strings.Join(versions, ", "), why)
		served = true
	}
	return served, nil
}
