package workload

import "gpurun/kernels/collective"

// withAreas makes room for the areas of each algorithm, as large as the largest case needs them. Chosen algorithms have
// computed their areas before: see Plan.check.
func (l Layout) withAreas(cases []Case, sms int) Layout {
	l.Areas = map[any][]collective.PlacedArea{}
	var order []*collective.Algorithm
	for _, c := range cases {
		if c.Algorithm.Areas == nil {
			continue
		}
		areas, err := c.Algorithm.Areas(c.world, sms, c.Call)
		if err != nil {
			continue // the chooser has refused such a case
		}
		if l.Areas[c.Algorithm] == nil {
			order = append(order, c.Algorithm)
			l.Areas[c.Algorithm] = make([]collective.PlacedArea, len(areas))
		}
		for i, area := range areas {
			placed := &l.Areas[c.Algorithm][i]
			placed.Name, placed.Bytes = area.Name, max(placed.Bytes, area.Bytes)
		}
	}
	for _, a := range order {
		for i := range l.Areas[a] {
			l.Areas[a][i].Offset = l.takeGuarded(l.Areas[a][i].Bytes)
		}
	}
	return l
}
