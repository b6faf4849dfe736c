package embed

import "strings"

// englishWords are small words that English has, and hardly another language in Latin letters.
var englishWords = wordSet(`
the of and for with my your our their his from what how please this that these those are you it its who when where why which can could would should
does did have has had been will about into onto if or any some up out there here them they she we don
show find give tell get make create add check using between
`)

// foreignWords are small words that other languages have, and English has not or hardly. One alone proves nothing.
var foreignWords = wordSet(`
der das und ist nicht ein eine einen einem einer mit für auf wie mir bitte mein meine meinen meiner ich wo wird kann dem den von zu im vom zum dich mich uns auch noch nach heute morgen
le la les des une est et pour dans quel quelle que qui je mon mes du au aux où sur avec pas cette ce ces moi il elle nous vous quels combien un de
el los las una por qué cómo para mi mis con del está este esta mañana cuánto dónde y en lo
che di gli della dei nel nella mio mia sono questo questa si è quanto domani
het een van niet dat ik mijn hoe wat voor naar op zijn waar wordt aan deze te bij uur alle
os uma não meu minha da onde isto ao às você
jest nie się gdzie moja mój jak na czy jutro
och att det jag på av inte ett mitt hur till som och med
jeg ikke af hvor hvordan
ei missä mitä minun olen huomenna
bir ve için nasıl nerede benim bu ne şimdi
kde můj jak zítra se
hol az egy és nem milyen hogy
unde meu și cu nu va
yang saya dan untuk apa ini
`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}
