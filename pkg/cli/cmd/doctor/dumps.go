package doctor

import (
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
)

// readDumps adds the objects of files to a snapshot.
func readDumps(files []string, add func(unstructured.Unstructured) error) error {
	for _, name := range files {
		text, err := os.ReadFile(name) //nolint:gosec // The user names the file.
		if err != nil {
			return err
		}
		objects, err := explain.Objects(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, object := range objects {
			if err := add(object); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}
