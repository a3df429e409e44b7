// Where the positives of candidate lists stand, without sorting the lists.
#pragma once

#include "common.hpp"

namespace graphgauge {

// List q has the candidates scores[begin[q]] to scores[begin[q] + size[q] - 1], none of them NaN. Its positives, places
// in `scores`, are positive[first[q]] to positive[first[q + 1] - 1]. They are put in order, best first, those with the
// same score as they were; for each, the candidates with a higher score and with the same, itself among them.
template <class T>
void list_places(const T* scores, const i64* begin, const i64* size, const i64* first, i64 lists, i64* positive,
                 i64* ahead, i64* tied, int threads);

}  // namespace graphgauge
