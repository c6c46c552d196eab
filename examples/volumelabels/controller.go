package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/volumelabels/labelling"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

const fieldManager = "volumelabels"

// controller labels PersistentVolumes that the webhook did not label.
type controller struct {
	provider provider
	resync   time.Duration
	client   corev1client.PersistentVolumeInterface
	lister   corev1listers.PersistentVolumeLister
}

func (c *controller) Run(ctx context.Context, env hosting.Environment) error {
	factory := informers.NewSharedInformerFactory(env.Client, c.resync)
	volumes := factory.Core().V1().PersistentVolumes()
	c.client, c.lister = env.Client.CoreV1().PersistentVolumes(), volumes.Lister()
	labels := hosting.NewWorklist("label PersistentVolume", c.label)
	enqueue := func(obj any) { labels.Add(cache.MetaObjectToName(obj.(*corev1.PersistentVolume))) }
	handled, err := volumes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, obj any) { enqueue(obj) },
	})
	if err != nil {
		return fmt.Errorf("watch PersistentVolumes: %w", err)
	}
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() { volumes.Informer().RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), handled.HasSynced) {
		return context.Cause(ctx)
	}
	labels.Run(ctx)
	return nil
}

// label ignores an unknown volume until the next resync.
func (c *controller) label(ctx context.Context, name cache.ObjectName) error {
	pv, err := c.lister.Get(name.Name)
	if err != nil {
		return err
	}
	volume, ok := labelling.VolumeOf(pv)
	if !ok || pv.DeletionTimestamp != nil {
		return nil
	}
	known, _, err := c.provider.Labels(ctx, volume)
	if err != nil {
		return fmt.Errorf("look up %s: %w", volume, err)
	}
	missing, _ := labelling.Compare(pv, known)
	if len(missing) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"labels": missing,
		// Another client may have set a label since.
		"resourceVersion": pv.ResourceVersion,
	}})
	if err != nil {
		return err
	}
	if _, err := c.client.Patch(ctx, pv.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
		return err
	}
	klog.InfoS("Labelled the PersistentVolume", "persistentVolume", name, "volume", volume, "labels", missing)
	return nil
}
