package convert

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/show"
)

// reference is a field of a pod that names a Secret.
type reference struct {
	field, name string
	optional    bool
	volume      bool // a volume of the Secret alone, which the conversion can change
}

func references(pod corev1.PodSpec) []reference {
	var all []reference
	add := func(volume bool) func(field, kind, name string, optional *bool) {
		return func(field, kind, name string, optional *bool) {
			if kind == "Secret" {
				all = append(all, reference{"spec.template.spec." + field, name, ptr.Deref(optional, false), volume})
			}
		}
	}
	for i, container := range pod.InitContainers {
		show.EnvironmentReferences(fmt.Sprintf("initContainers[%d]", i), container, add(false))
	}
	for i, container := range pod.Containers {
		show.EnvironmentReferences(fmt.Sprintf("containers[%d]", i), container, add(false))
	}
	for i, volume := range pod.Volumes {
		show.VolumeReferences(fmt.Sprintf("volumes[%d]", i), volume, add(volume.Secret != nil))
	}
	return all
}

// secretUser is a field of a Deployment that refers to a Secret.
type secretUser struct {
	deployment *deployment
	field      string
}

// secretUsers returns the fields that refer to a Secret which is not optional, by the name of the Secret.
func secretUsers(deployments []*deployment) map[string][]secretUser {
	users := map[string][]secretUser{}
	for _, d := range deployments {
		for _, r := range references(d.pod()) {
			if !r.optional {
				users[r.name] = append(users[r.name], secretUser{d, r.field})
			}
		}
	}
	return users
}

// managersPaths are the paths at which the manager mounts the certificate, and the names of its files there.
var managersPaths = map[string][]string{
	wellknown.MountWebhookCert:    {corev1.TLSCertKey, corev1.TLSPrivateKeyKey, wellknown.KeyCA},
	wellknown.MountAPIServiceCert: {"apiserver.crt", "apiserver.key", wellknown.KeyCA},
}

// finishDeployments removes the volumes that the manager's certificate replaces.
func (c *converter) finishDeployments() {
	for _, d := range c.deployments {
		c.checkDeployment(d)
		if d.called {
			c.replaceCertificates(d)
		}
		for _, r := range references(d.pod()) {
			if c.certificateSecrets.has(c.namespaces, d.namespace(), r.name) && !r.optional && !(r.volume && d.called) {
				c.report(Warning, d.object, r.field, fmt.Sprintf("the field reads the Secret %s, which had the certificate of a webhook and does not exist: no pod starts", r.name),
					fmt.Sprintf("read the certificate of a webhook from the files in %s", wellknown.MountWebhookCert))
			}
		}
	}
}

// checkDeployment reports what a ClusterServiceVersion does not have.
func (c *converter) checkDeployment(d *deployment) {
	if lost := slices.Sorted(maps.Keys(withoutTools(d.object.GetAnnotations()))); len(lost) > 0 {
		c.report(Warning, d.object, "metadata.annotations", "the Deployments of a bundle have no annotations: the bundle lacks "+strings.Join(lost, ", "), "if a program needs them, set them on the pods, in spec.template.metadata.annotations")
	}
	c.checkNamespace(d.object, d.spec, "spec")
	for i, container := range d.pod().Containers {
		for j, variable := range container.Env {
			if from := variable.ValueFrom; variable.Name == watchVariable && from != nil && from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.namespace" {
				c.report(Warning, d.object, fmt.Sprintf("spec.template.spec.containers[%d].env[%d].valueFrom", i, j), "the operator watches its own namespace, whichever namespaces its OperatorGroup names", "if the operator reads a list of namespaces, and watches all for an empty text, write the fieldPath "+targetsPath)
			}
		}
	}
}

const (
	// watchVariable is the variable by which many operators read what they watch.
	watchVariable = "WATCH_NAMESPACE"
	targetsPath   = "metadata.annotations['" + operatorsv1.OperatorGroupTargetsAnnotationKey + "']"
)

// replaceCertificates changes the volumes with the certificate of a webhook in a Deployment that webhooks call.
func (c *converter) replaceCertificates(d *deployment) {
	read, mounts := false, d.mounts()
	unmounted, removed := sets.New[string](), sets.New[string]()
	for i, volume := range d.pod().Volumes {
		if volume.Secret == nil || unmounted.Has(volume.Name) || removed.Has(volume.Name) {
			continue
		}
		at, ofCertificate := mounts[volume.Name], c.certificateSecrets.has(c.namespaces, d.namespace(), volume.Secret.SecretName)
		replaced := lists.Filter(at, isManagers)
		if len(replaced) > 0 {
			unmounted.Insert(volume.Name)
			c.checkFiles(d, i, volume.Secret.Items, path.Clean(replaced[0].MountPath))
		}
		switch others := len(at) - len(replaced); {
		case others == 0 && (len(replaced) > 0 || ofCertificate):
			removed.Insert(volume.Name)
		case others > 0 && ofCertificate:
			read = true
			c.useManagersSecret(d, i, at)
		}
	}
	d.remove(unmounted, removed)
	managers := func(all []corev1.VolumeMount) bool { return slices.ContainsFunc(all, isManagers) }
	if !read && !slices.ContainsFunc(slices.Collect(maps.Values(mounts)), managers) {
		c.report(Warning, d.object, "spec.template.spec.volumes",
			fmt.Sprintf("the Deployment serves webhooks, and mounts no certificate of the input. The manager mounts one at %s, with the files tls.crt and tls.key", wellknown.MountWebhookCert),
			"check that the server reads these files, and switch off any other way in which it gets a certificate")
	}
}

// isManagers reports whether a mount is at one of the manager's paths.
func isManagers(m corev1.VolumeMount) bool { return managersPaths[path.Clean(m.MountPath)] != nil }

// useManagersSecret lets a volume that is mounted at another path have the certificate of the manager.
func (c *converter) useManagersSecret(d *deployment, i int, mounts []corev1.VolumeMount) {
	volume, field := d.pod().Volumes[i], fmt.Sprintf("spec.template.spec.volumes[%d]", i)
	service := names.Service(d.typed.Name)
	secret := names.Secret(service)
	written, _ := d.podFields()["volumes"].([]any)
	if err := unstructured.SetNestedField(written[i].(map[string]any), secret, "secret", "secretName"); err != nil {
		panic(err) // the Deployment was decoded: the volume has a Secret
	}
	other := slices.IndexFunc(mounts, func(m corev1.VolumeMount) bool { return !isManagers(m) })
	level, what := Warning, fmt.Sprintf("the server reads the certificate at %s, and the manager mounts it at %s. The volume has the Secret %s of the manager instead of %s", mounts[other].MountPath, wellknown.MountWebhookCert, secret, volume.Secret.SecretName)
	remedy := fmt.Sprintf("let the server read tls.crt and tls.key in %s, and remove the volume", wellknown.MountWebhookCert)
	if slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool { return m.SubPath != "" }) {
		what += ". A mount with subPath is never updated: the server does not get renewed certificates"
	}
	if hasService(c.manifests, service) {
		level = Error
		what += fmt.Sprintf(". The Service %s of the bundle has the name that the manager gives its Service. So the Service and the Secret of the manager get other names, which depend on the installed version, and no pod starts", service)
		remedy += fmt.Sprintf("; or rename the Service %s, and convert again", service)
	}
	c.report(level, d.object, field, what, remedy)
	c.checkItems(d, field, volume.Secret.Items)
}

// hasService reports whether a Service of this name is among some objects.
func hasService(all []*unstructured.Unstructured, name string) bool {
	return slices.ContainsFunc(all, func(o *unstructured.Unstructured) bool {
		return groupkind.Is(o, groupkind.Service) && o.GetName() == name
	})
}

// checkItems reports keys that the manager's Secret does not have.
func (c *converter) checkItems(d *deployment, field string, items []corev1.KeyToPath) {
	for i, item := range items {
		if !slices.Contains(managersPaths[wellknown.MountWebhookCert], item.Key) {
			c.report(Error, d.object, fmt.Sprintf("%s.secret.items[%d].key", field, i), fmt.Sprintf("the manager's Secret has no key %s: no pod starts", item.Key), "use the keys tls.crt, tls.key and ca.crt")
		}
	}
}

// checkFiles reports files with other names than the manager's at the same path.
func (c *converter) checkFiles(d *deployment, volume int, items []corev1.KeyToPath, at string) {
	for i, item := range items {
		if !slices.Contains(managersPaths[at], item.Path) {
			c.report(Error, d.object, fmt.Sprintf("spec.template.spec.volumes[%d].secret.items[%d].path", volume, i), fmt.Sprintf("the manager's files at %s are %s, and not %s: the server does not find its certificate", at, strings.Join(managersPaths[at], ", "), item.Path), "let the server read the files with the manager's names")
		}
	}
}

// mounts returns the mounts of all containers, by the name of the volume.
func (d *deployment) mounts() map[string][]corev1.VolumeMount {
	all := map[string][]corev1.VolumeMount{}
	for _, container := range slices.Concat(d.pod().InitContainers, d.pod().Containers) {
		for _, m := range container.VolumeMounts {
			all[m.Name] = append(all[m.Name], m)
		}
	}
	return all
}

// podFields returns the pod as it is written.
func (d *deployment) podFields() map[string]any {
	template, _ := d.spec["template"].(map[string]any)
	pod, _ := template["spec"].(map[string]any)
	return pod
}

// remove removes volumes, and mounts of volumes at the manager's paths.
func (d *deployment) remove(unmounted, volumes sets.Set[string]) {
	for _, field := range []string{"initContainers", "containers"} {
		containers, _ := d.podFields()[field].([]any)
		for _, container := range containers {
			fields, _ := container.(map[string]any)
			replaceList(fields, "volumeMounts", func(mount map[string]any) bool {
				name, _ := mount["name"].(string)
				at, _ := mount["mountPath"].(string)
				return unmounted.Has(name) && managersPaths[path.Clean(at)] != nil
			})
		}
	}
	replaceList(d.podFields(), "volumes", func(volume map[string]any) bool {
		name, _ := volume["name"].(string)
		return volumes.Has(name)
	})
}

// replaceList removes items from a list, and the list if it is then empty.
func replaceList(fields map[string]any, name string, remove func(map[string]any) bool) {
	list, _ := fields[name].([]any)
	list = slices.DeleteFunc(list, func(item any) bool {
		entry, _ := item.(map[string]any)
		return remove(entry)
	})
	if len(list) == 0 {
		delete(fields, name)
		return
	}
	fields[name] = list
}

// strategy returns the Deployment as an install strategy has it.
func (d *deployment) strategy() map[string]any {
	entry := map[string]any{"name": d.typed.Name, "spec": d.spec}
	if kept := withoutTools(d.object.GetLabels()); len(kept) > 0 {
		entry["label"] = texts(kept)
	}
	return entry
}

func texts(pairs map[string]string) map[string]any {
	values := make(map[string]any, len(pairs))
	for key, value := range pairs {
		values[key] = value
	}
	return values
}
