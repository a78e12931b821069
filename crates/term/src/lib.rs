//! Terms: the word, boxed objects, comparison, hashing, printing, external term format.
