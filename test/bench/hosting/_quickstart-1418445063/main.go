package main

import (
	"context"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

func main() {
	b := hosting.NewBuilder("team-label")
	b.RegisterWebhook("pods", hosting.Webhook{
		Kinds:   []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod")},
		Handler: hosting.Validating(requireTeam),
	})
	os.Exit(b.Run())
}

func requireTeam(_ context.Context, r hosting.Request[*corev1.Pod]) error {
	if r.Object.Labels["team"] == "" {
		return hosting.Deny("pod %s has no label team: say who owns it", r.Object.Name)
	}
	return nil
}
