// The webhook of docs/author/hosting.md on controller-runtime, for the comparison of sizes.
package main

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{})
	if err != nil {
		return err
	}
	if err := ctrl.NewWebhookManagedBy(manager, &corev1.Pod{}).WithValidator(requireTeam{}).Complete(); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

type requireTeam struct{}

func (requireTeam) ValidateCreate(_ context.Context, pod *corev1.Pod) (admission.Warnings, error) {
	if pod.Labels["team"] == "" {
		return nil, fmt.Errorf("pod %s has no label team: say who owns it", pod.Name)
	}
	return nil, nil
}

func (r requireTeam) ValidateUpdate(ctx context.Context, _, pod *corev1.Pod) (admission.Warnings, error) {
	return r.ValidateCreate(ctx, pod)
}

func (requireTeam) ValidateDelete(context.Context, *corev1.Pod) (admission.Warnings, error) {
	return nil, nil
}
