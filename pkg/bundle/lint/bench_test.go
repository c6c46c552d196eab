package lint

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
)

// BenchmarkValidate compares all checks, reading included, with the validators of OLM's
// library alone, read by its own loader. BUNDLES names a folder with a bundle in
// NAME/VERSION for each operator; by default the examples are read.
func BenchmarkValidate(b *testing.B) {
	pattern := "../../../examples/*/bundle*/metadata"
	if folder := os.Getenv("BUNDLES"); folder != "" {
		pattern = filepath.Join(folder, "*", "*", "metadata")
	}
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		b.Fatalf("no bundle at %s: %v", pattern, err)
	}
	b.Run("all checks", func(b *testing.B) {
		for b.Loop() {
			for _, metadata := range found {
				read, err := bundle.Inspect(filepath.Dir(metadata))
				if err != nil {
					b.Fatal(err)
				}
				Run(read)
			}
		}
	})
	b.Run("library alone", func(b *testing.B) {
		validators := validator.Validators{
			validation.ClusterServiceVersionValidator, validation.CustomResourceDefinitionValidator, validation.BundleValidator, validation.ObjectValidator,
			validation.AlphaDeprecatedAPIsValidator, validation.GoodPracticesValidator, validation.OperatorHubV2Validator,
			validation.StandardCategoriesValidator, validation.StandardCapabilitiesValidator,
		}
		for b.Loop() {
			for _, metadata := range found {
				read, err := manifests.GetBundleFromDir(filepath.Dir(metadata))
				if err != nil {
					continue // two of its own rules refuse what the checks go on with
				}
				validators.Validate(read.ObjectsToValidate()...)
			}
		}
	})
}
