package convert

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
)

// minKubeVersion is the oldest version of Kubernetes that the manager supports.
const minKubeVersion = "1.28.0"

func (c *converter) clusterServiceVersion() map[string]any {
	strategy := map[string]any{}
	var deployments []any
	for _, d := range c.deployments {
		deployments = append(deployments, d.strategy())
	}
	strategy["deployments"] = deployments
	setList(strategy, "permissions", c.permissions)
	setList(strategy, "clusterPermissions", c.cluster)
	spec := map[string]any{
		"displayName": c.options.Name, "description": fmt.Sprintf("The operator %s.", c.options.Name), "version": c.options.Version,
		"minKubeVersion": minKubeVersion, "provider": map[string]any{"name": c.options.Name}, "installModes": c.installModes(),
		"install": map[string]any{"strategy": "deployment", "spec": strategy},
	}
	setList(spec, "webhookdefinitions", c.webhooks)
	if len(c.owned) > 0 {
		spec["customresourcedefinitions"] = map[string]any{"owned": c.owned}
	}
	c.reportCSV("spec.description", "displayName, description and provider have the name of the package, and icon, links and maintainers are missing", "write these fields: catalogs show them")
	return map[string]any{
		"apiVersion": operatorsv1alpha1.ClusterServiceVersionAPIVersion, "kind": operatorsv1alpha1.ClusterServiceVersionKind,
		"metadata": map[string]any{"name": c.options.csvName(), "annotations": c.annotations()}, "spec": spec,
	}
}

func setList(fields map[string]any, name string, list []any) {
	if len(list) > 0 {
		fields[name] = list
	}
}

func (c *converter) annotations() map[string]any {
	annotations := map[string]any{"capabilities": "Basic Install", "alm-examples": "[]"}
	if len(c.examples) > 0 {
		annotations["alm-examples"] = jsonOf(c.examples)
	}
	if len(c.conditions) > 0 {
		annotations[wellknown.AnnotationMatchConditions] = yamlOf(c.conditions)
	}
	switch home := c.home(); {
	case c.namespace != nil && len(c.namespace["metadata"].(map[string]any)) > 1:
		annotations[bundle.NamespaceTemplateAnnotation] = jsonOf(c.namespace)
	case home != "" && home != metav1.NamespaceDefault && !bundle.BelongsToKubernetes(home):
		annotations[bundle.NamespaceAnnotation] = home
	}
	return annotations
}

func jsonOf(value any) string {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		panic(err) // the values come from YAML
	}
	return string(text)
}

// yamlOf is for expressions: JSON escapes the operator && and comparisons.
func yamlOf(value any) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		panic(err) // the values come from YAML
	}
	return string(text)
}

// installModes supports all modes only if no part of the operator is for the whole cluster.
func (c *converter) installModes() []any {
	reason := ""
	switch {
	case c.converts:
		reason = "a conversion webhook converts the objects of all namespaces"
	case len(c.cluster) > 0:
		reason = "the operator has cluster permissions"
		c.reportCSV("spec.installModes", "the bundle supports AllNamespaces only: "+reason, "if the operator reads the annotation olm.targetNamespaces of its pods and can watch some namespaces, set supported: true for the other modes")
	}
	var modes []any
	for _, mode := range []operatorsv1alpha1.InstallModeType{
		operatorsv1alpha1.InstallModeTypeOwnNamespace, operatorsv1alpha1.InstallModeTypeSingleNamespace,
		operatorsv1alpha1.InstallModeTypeMultiNamespace, operatorsv1alpha1.InstallModeTypeAllNamespaces,
	} {
		modes = append(modes, map[string]any{"type": string(mode), "supported": reason == "" || mode == operatorsv1alpha1.InstallModeTypeAllNamespaces})
	}
	return modes
}
