package jsonpatch

import (
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

func TestTextFindsWhatIsInIt(t *testing.T) {
	sent := text("{ \"a\" : {\"b\":[1, {\"}\":\"]\\\"\"}]} ,\n\t\"c\\u0041\":\"x,\\\\\",\"d\":-1.5e3,\"e\":null , \"e\":true,\"f\":[],\"g\":{},\"\xff\":1 }")
	want := map[string]text{
		"a":      text(`{"b":[1, {"}":"]\""}]}`),
		"cA":     text(`"x,\\"`),
		"d":      text(`-1.5e3`),
		"e":      text(`true`),
		"f":      text(`[]`),
		"g":      text(`{}`),
		"\ufffd": text(`1`),
	}
	members := sent.members()
	hostingtest.Same(t, "members", want, members)
	hostingtest.Same(t, "elements", []text{text(`1`), text(`{"}":"]\""}`)}, members["a"].members()["b"].elements())
	for _, other := range []text{nil, text(`1`), text(`"{}"`), text(`null`)} {
		if other.members() != nil || other.elements() != nil {
			t.Errorf("%s has members or elements", other)
		}
	}
	if got := members["f"].elements(); got == nil || len(got) != 0 {
		t.Errorf("an empty list has %v", got)
	}
}
