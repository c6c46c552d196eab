// Command volumelabels labels PersistentVolumes with the labels of their volumes, such as the zone.
// A webhook labels new PersistentVolumes, and a controller the existing ones. They run in one
// process or in two.
package main

import (
	"os"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

const (
	name        = "persistentvolumes"
	webhookPath = "/label-persistentvolumes"
)

func main() { os.Exit(newBuilder().Run()) }

func newBuilder() *hosting.Builder {
	b := hosting.NewBuilder("volumelabels")
	volumes := &fileProvider{}
	b.Flags().StringVar(&volumes.path, "volumes", "/etc/volumelabels/volumes.yaml",
		"File that lists volumes with their labels. It is read again when it changes.")
	c := &controller{provider: volumes}
	b.Flags().DurationVar(&c.resync, "resync-period", time.Minute,
		"How often the controller reconciles all PersistentVolumes, to apply new facts about their volumes.")
	b.RegisterController(name, c.Run)
	b.RegisterWebhook(name, newWebhook(volumes))
	return b
}

func newWebhook(p provider) hosting.Webhook {
	return hosting.Webhook{
		Handler:    hosting.Mutating(labeller{p}.admit),
		Kinds:      []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("PersistentVolume")},
		Operations: []admissionv1.Operation{admissionv1.Create},
		Path:       webhookPath,
	}
}
