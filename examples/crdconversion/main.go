// Command crdconversion has a controller that writes the status of Caches, and a webhook that
// converts them between v1 and v2. Each runs in its own Deployment, so that Caches can be read and
// written while the controller does not run.
package main

import (
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

const webhookPath = "/convert"

func main() { os.Exit(newBuilder().Run()) }

func newBuilder() *hosting.Builder {
	b := hosting.NewBuilder("crdconversion")
	c := &controller{}
	b.Flags().StringVar(&c.version, "cache-version", convert.V2.Version,
		"Version in which the controller reads and writes Caches: v2, or v1 where the cluster has no other.")
	b.RegisterController("caches", c.Run)
	b.RegisterWebhook("convert", newWebhook())
	return b
}

// newWebhook returns a conversion whose hub is v2, the storage version.
func newWebhook() hosting.Webhook {
	return hosting.Webhook{
		Handler: hosting.Conversion(
			convert.V2.WithKind(convert.Kind),
			hosting.Spoke[*unstructured.Unstructured, *unstructured.Unstructured](
				convert.V1.WithKind(convert.Kind), convert.ToV2, convert.ToV1),
		),
		Path: webhookPath,
	}
}
