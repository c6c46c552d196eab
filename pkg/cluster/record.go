package cluster

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/deploy"
)

// packageName is the package that an installation belongs to.
func (i Installation) packageName() string { return cmp.Or(i.Bundle.Package(), i.Bundle.CSV.Name) }

// record reads what an installation has created and changed; empty where there is none yet.
func (c *Cluster) record(ctx context.Context, i Installation) (deploy.Record, error) {
	empty, name := deploy.Record{Namespace: i.Namespace()}, deploy.RecordName(i.packageName())
	if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		return empty, fmt.Errorf("the package name %q makes no valid name of a ConfigMap: %s", i.packageName(), wrong[0])
	}
	live, err := found(c.kube.CoreV1().ConfigMaps(i.Namespace()).Get(ctx, name, metav1.GetOptions{}))
	if err != nil || live == nil {
		return empty, err
	}
	r, err := deploy.ReadRecord(live.Data)
	r.Namespace = i.Namespace()
	if err != nil {
		return r, fmt.Errorf("ConfigMap %s/%s, which records what the installation created, cannot be read: %w: restore it, or delete it and adopt each object", i.Namespace(), name, err)
	}
	return r, nil
}

// otherRecords are those of other packages in the namespace, by package. What cannot be read records nothing.
func (c *Cluster) otherRecords(ctx context.Context, i Installation) (map[string]deploy.Record, error) {
	list, err := c.kube.CoreV1().ConfigMaps(i.Namespace()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	records := map[string]deploy.Record{}
	for _, live := range list.Items {
		packageName, is := deploy.IsRecordName(live.Name)
		if !is || packageName == i.packageName() {
			continue
		}
		if r, err := deploy.ReadRecord(live.Data); err == nil {
			r.Namespace = i.Namespace()
			records[packageName] = r
		}
	}
	return records, nil
}

// recordWithin limits how long an interrupted command takes to write the record.
const recordWithin = 10 * time.Second

// afterInterrupt returns a context that outlives the command's interruption, for recordWithin.
func afterInterrupt(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
}

// save writes the record, also when the command is being interrupted.
func (c *Cluster) save(ctx context.Context, i Installation, r deploy.Record) error {
	return c.saveOf(ctx, i.packageName(), i.Namespace(), r)
}

func (c *Cluster) saveOf(ctx context.Context, packageName, namespace string, r deploy.Record) error {
	ctx, cancel := afterInterrupt(ctx)
	defer cancel()
	data, err := r.Data()
	if err != nil {
		return err
	}
	client, name := c.kube.CoreV1().ConfigMaps(namespace), deploy.RecordName(packageName)
	live, err := found(client.Get(ctx, name, metav1.GetOptions{}))
	switch {
	case err != nil:
	case live == nil:
		_, err = client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}, metav1.CreateOptions{FieldManager: fieldManager})
	case equality.Semantic.DeepEqual(live.Data, data):
	default:
		live.Data = data
		_, err = client.Update(ctx, live, metav1.UpdateOptions{FieldManager: fieldManager})
	}
	if err != nil {
		return fmt.Errorf("ConfigMap %s/%s, which records what the installation created: %w", namespace, name, err)
	}
	return nil
}

// forget ends a record: it is deleted, unless something stays that it is about.
func (c *Cluster) forget(ctx context.Context, packageName, namespace string, rest deploy.Record) error {
	if len(rest.Objects) > 0 {
		return c.saveOf(ctx, packageName, namespace, rest)
	}
	err := c.kube.CoreV1().ConfigMaps(namespace).Delete(ctx, deploy.RecordName(packageName), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
