package subscriptions

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// OpenShift's object with the proxy of the cluster. Other clusters do not have the kind.
var (
	ProxyResource = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "proxies"}
	ProxyKind     = schema.GroupKind{Group: ProxyResource.Group, Kind: "Proxy"}
)

// ClusterProxy is the name of that object.
const ClusterProxy = "cluster"

// Proxy is what the pods of operators use to reach servers outside of the cluster.
type Proxy struct {
	HTTP, HTTPS string // URLs
	NoProxy     string // where no proxy is used, separated by commas
}

// ProxyOf returns the proxy in the status of OpenShift's object: the cluster's own addresses are only there in noProxy.
func ProxyOf(object *unstructured.Unstructured) Proxy {
	field := func(name string) string {
		text, _, _ := unstructured.NestedString(object.Object, "status", name)
		return text
	}
	return Proxy{HTTP: field("httpProxy"), HTTPS: field("httpsProxy"), NoProxy: field("noProxy")}
}

// ProxyIn returns the proxy in the environment of the first container of a pod.
func ProxyIn(pod corev1.PodSpec) Proxy {
	value := map[string]string{}
	for _, container := range pod.Containers[:min(len(pod.Containers), 1)] {
		for _, variable := range container.Env {
			value[variable.Name] = variable.Value
		}
	}
	return Proxy{HTTP: value["HTTP_PROXY"], HTTPS: value["HTTPS_PROXY"], NoProxy: value["NO_PROXY"]}
}

func (p Proxy) variables() []corev1.EnvVar {
	return []corev1.EnvVar{{Name: "HTTP_PROXY", Value: p.HTTP}, {Name: "HTTPS_PROXY", Value: p.HTTPS}, {Name: "NO_PROXY", Value: p.NoProxy}}
}

// WithProxy adds the variables of a proxy after those of the config. As in OLM v0, there are none if the config has one
// of them, with any value, and an empty field is no variable. Variables in lower case do not count.
func (c Config) WithProxy(p Proxy) Config {
	variables := p.variables()
	overridden := slices.ContainsFunc(c.Env, func(configured corev1.EnvVar) bool {
		return slices.ContainsFunc(variables, func(v corev1.EnvVar) bool { return v.Name == configured.Name })
	})
	if !overridden {
		c.Env = slices.Concat(c.Env, lists.Filter(variables, func(v corev1.EnvVar) bool { return v.Value != "" }))
	}
	return c
}
