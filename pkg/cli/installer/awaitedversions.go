package installer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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

func (v *watch) serveConverted(ctx context.Context, l deploy.Observation) error {
	return v.serve(ctx, func(live *apiextensionsv1.CustomResourceDefinition, versions string) string {
		if !l.Converts(live) {
			return ""
		}
		return fmt.Sprintf("CustomResourceDefinition %s serves %s, which its webhook converts to", live.Name, versions)
	})
}

// serveUnconverted serves versions before a webhook converts to them if its pods may wait for them. Their time restarts.
func (v *watch) serveUnconverted(ctx context.Context, l deploy.Observation) (served bool, err error) {
	before := len(v.awaited)
	err = v.serve(ctx, func(live *apiextensionsv1.CustomResourceDefinition, versions string) string {
		deployment := l.WaitsForVersions(live.Name)
		if deployment == "" {
			return ""
		}
		return fmt.Sprintf("CustomResourceDefinition %s serves %s, for which Deployment %s may be waiting: requests in it fail until its webhook serves", live.Name, versions, deployment)
	})
	if served = len(v.awaited) < before; served {
		v.problemSince = time.Time{}
	}
	return served, err
}

func (v *watch) replaced(live *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(v.applied, func(o *unstructured.Unstructured) bool {
		return groupkind.Is(o, groupkind.CustomResourceDefinition) && o.GetName() == live.Name && o.GetUID() != live.UID
	})
}

// serve adds awaited versions, with the conversion that was read, if may gives a reason and the definition is unchanged.
func (v *watch) serve(ctx context.Context, may func(live *apiextensionsv1.CustomResourceDefinition, versions string) string) error {
	for _, next := range v.Bundle.CRDs() {
		versions, awaited := v.awaited[next.Name]
		if !awaited {
			continue
		}
		live, err := v.definitions.get(ctx, next.Name)
		if err != nil {
			return err
		}
		if live == nil || v.replaced(live) {
			continue
		}
		why := may(live, strings.Join(versions, ", "))
		if why == "" {
			continue
		}
		_, err = v.definitions.change(ctx, live, deploy.Serving(live, next, v.CSV()))
		if apierrors.IsConflict(err) {
			continue // the next poll reads the new state
		}
		if err != nil {
			return fmt.Errorf("CustomResourceDefinition %s: %w", next.Name, err)
		}
		delete(v.awaited, next.Name)
		v.Print("%s", why)
	}
	return nil
}
