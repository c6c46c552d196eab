package render

import (
	"encoding/json"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
)

func hashOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // API types always marshal
	}
	return names.Hash(string(text))
}
