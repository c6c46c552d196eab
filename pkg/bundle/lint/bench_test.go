package lint

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
)

// BenchmarkValidate compares all checks, reading included, with the validators of OLM's
// library alone, read by its own loader, and fails when they take twice as long. BUNDLES names
// a folder with a bundle in NAME/VERSION for each operator; by default the examples are read.
func BenchmarkValidate(b *testing.B) {
	pattern := "../../../examples/*/bundle*/metadata"
	if folder := os.Getenv("BUNDLES"); folder != "" {
		pattern = filepath.Join(folder, "*", "*", "metadata")
	}
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		b.Fatalf("no bundle at %s: %v", pattern, err)
	}
	var own, library time.Duration
	for b.Loop() {
		start := time.Now()
		validateAll(b, found)
		between := time.Now()
		validateByLibrary(found)
		own, library = own+between.Sub(start), library+time.Since(between)
	}
	ratio := own.Seconds() / library.Seconds()
	b.ReportMetric(ratio, "x-library")
	b.ReportMetric(own.Seconds()/float64(b.N), "s")
	b.ReportMetric(library.Seconds()/float64(b.N), "library-s")
	b.ReportMetric(0, "ns/op")
	if ratio >= 2 {
		b.Fatalf("all checks take %.2f times as long as OLM's library alone, and may take less than 2", ratio)
	}
}

func validateAll(b *testing.B, found []string) {
	b.Helper()
	for _, metadata := range found {
		read, err := bundle.Inspect(filepath.Dir(metadata))
		if err != nil {
			b.Fatal(err)
		}
		Run(read)
	}
}

func validateByLibrary(found []string) {
	validators := validator.Validators{
		validation.ClusterServiceVersionValidator, validation.CustomResourceDefinitionValidator, validation.BundleValidator, validation.ObjectValidator,
		validation.AlphaDeprecatedAPIsValidator, validation.GoodPracticesValidator, validation.OperatorHubV2Validator,
		validation.StandardCategoriesValidator, validation.StandardCapabilitiesValidator,
	}
	for _, metadata := range found {
		read, err := manifests.GetBundleFromDir(filepath.Dir(metadata))
		if err != nil {
			continue // two of its own rules refuse what the checks go on with
		}
		validators.Validate(read.ObjectsToValidate()...)
	}
}
