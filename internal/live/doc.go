// Package live shows what the limiter decides now, to those who ask: which rules
// deny, which values are hot, the last denials. It watches only while somebody does;
// then it holds a bounded number of values, and the hottest of more are found with
// fair certainty, not counted exactly.
package live
