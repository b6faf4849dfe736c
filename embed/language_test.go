package embed_test

import (
	"testing"

	"toolbelt/embed"
)

func TestReads(t *testing.T) {
	b, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"":                                         true,
		"hi":                                       true,
		"42 + 17":                                  true,
		"what is the weather tomorrow?":            true,
		"ping Anna that I'm late":                  true,
		"we're out of milk":                        true,
		"Please move the file to my archive":       true,
		"Spotify":                                  true,
		"Wie wird das Wetter morgen?":              false,
		"Mach bitte das Licht in der Küche an":     false,
		"Quel temps fera-t-il demain ?":            false,
		"¿Qué tiempo hará mañana?":                 false,
		"Accendi la luce in cucina":                false,
		"Hoe laat vertrekt de trein naar Utrecht?": false,
		"Jaka będzie jutro pogoda?":                false,
		"Где моя посылка?":                         false,
		"明天天气怎么样":                                  false,
		"電気をつけて":                                   false,
		"오늘 날씨 어때":                                 false,
		"ما هو الطقس غدا":                          false,
		"\xff\xfe":                                 true,
		"translate 明天 for me, please, into plain text": true,
	} {
		if got := b.Reads(text); got != want {
			t.Errorf("Reads(%q) = %v", text, got)
		}
	}
}

func TestMultilingual(t *testing.T) {
	for name, want := range map[string]bool{
		"builtin": false, "all-minilm": false, "nomic-embed-text": false, "embeddinggemma": true, "bge-m3": true, "qwen3-embedding:0.6b": true,
		"hf.co/x/multilingual-e5-small": true, "snowflake-arctic-embed2": true,
	} {
		if got := (embed.Model{Name: name}).Multilingual(); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// Requests as people write them: short, with names, file names, jargon and typing mistakes.
func TestReadsEnglishAsItIsWritten(t *testing.T) {
	b, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"resize photo.png to 200 pixels",
		"Show git diff for utils.py",
		"Install numpy and pandas",
		"Unzip archive.tar.gz",
		"OCR scan.png",
		"Find flights SFO to JFK",
		"Explain async await in JavaScript",
		"Lint src/index.ts",
		"Resize all PNGs to 512x512",
		"summarise README.md",
		"convert invoice.pdf to markdown",
		"rename foo.txt bar.txt",
		`translate "Guten Morgen" to English`,
		"pls fix teh bug",
		"git rebase onto main",
		"docker compose up",
		"grep TODO src",
		"npm run build fails",
		"kubectl get pods",
		"undo last commit",
		"how's AAPL doing",
		"tell Ann that I am late",
		"play Beyoncé",
		"whats up dude",
		"thx bro",
		"add oat milk & quinoa",
		"book sushi near Shibuya",
		"dim hallway lights",
		"order paracetamol and ibuprofen",
		"reboot raspberry pi",
		"transcribe meeting.mp3",
		"merge PDFs",
		"decode JWT",
		"ssh into homelab",
		"refactor useEffect hook",
		"ping Anna that I'm late",
		"unsubscribe newsletter",
		"backup postgres nightly",
		"organise my screenshots",
		"whats the weather in Kraków",
		"call Grzegorz Brzęczyszczykiewicz",
		"flashcards for mitochondria",
		"tl;dr this thread",
		"defrag thumbdrive",
		"plz remnd me tmrw 2 call mum",
		"wheres my parcel",
		"find cheap Airbnbs in Reykjavík",
		"deploy to kubernetes staging namespace",
		"reserve a table for two",
		"summarise email",
		"turn off telly",
		"show open todos",
		"time in Tokyo",
		"zip node_modules",
		"ffmpeg convert mkv mp4",
		"list EC2 instances",
		"scp logs from nas",
		"yo play some lofi",
		"need vegan ramen recipe",
		"GPU temps?",
		"watch Dune tonight",
		"post tweet saying hello",
		"crop screenshot",
		"add kwargs docstring",
		"reindex elasticsearch",
		"dedupe contacts",
		"mute notifications til noon",
		"sudoku puzzle please",
		"unmount /dev/sda1",
		"Venmo Josh $20",
		"clean up ~/Downloads",
		"lowercase filenames",
		"restart nginx",
	} {
		if !b.Reads(text) {
			t.Errorf("Reads(%q) = false", text)
		}
	}
}

// In sixteen languages; of 128 such requests six shorter ones are taken for English.
func TestReadsNoOtherLanguage(t *testing.T) {
	b, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"Wie wird das Wetter morgen?",
		"Mach bitte das Licht in der Küche an",
		"Schick Anna eine Nachricht, dass ich später komme",
		"Lösche alle alten Rechnungen",
		"Was kostet ein Flug nach Lissabon?",
		"Stell einen Wecker auf sieben Uhr",
		"Suche Rezepte mit Kürbis",
		"Öffne die Datei Bericht.docx",
		"erinnere mich morgen an den Zahnarzt",
		"Wo ist mein Paket?",
		"Übersetze diesen Satz ins Englische",
		"spiel etwas ruhige Musik",
		"quel temps fait-il à Paris",
		"Quel temps fera-t-il demain ?",
		"Allume la lumière du salon",
		"Envoie un message à Paul",
		"supprime les anciens fichiers",
		"Combien coûte un vol pour Lisbonne ?",
		"Mets un réveil à sept heures",
		"Cherche une recette avec du potiron",
		"Traduis cette phrase en anglais",
		"Où est mon colis ?",
		"joue de la musique calme",
		"rappelle-moi demain le dentiste",
		"¿Qué tiempo hará mañana?",
		"Enciende la luz de la cocina",
		"Envía un mensaje a Juan",
		"borra los archivos viejos",
		"¿Cuánto cuesta un vuelo a Lisboa?",
		"Pon una alarma a las siete",
		"Busca recetas con calabaza",
		"¿Dónde está mi paquete?",
		"traduce esta frase al inglés",
		"recuérdame llamar al dentista mañana",
		"abre el archivo informe",
		"Accendi la luce in cucina",
		"Che tempo farà domani?",
		"Manda un messaggio a Marco",
		"Quanto costa un volo per Lisbona?",
		"Metti una sveglia alle sette",
		"dove si trova il mio pacco",
		"traduci questa frase in inglese",
		"cerca una ricetta con la zucca",
		"Hoe laat vertrekt de trein naar Utrecht?",
		"Wat voor weer wordt het morgen?",
		"Doe het licht in de keuken aan",
		"Stuur een bericht naar Jan",
		"verwijder alle oude bestanden",
		"waar is mijn pakketje",
		"zet de wekker op zeven uur",
		"zoek een recept met pompoen",
		"Como vai estar o tempo amanhã?",
		"Acende a luz da cozinha",
		"Envia uma mensagem ao João",
		"apaga os ficheiros antigos",
		"Quanto custa um voo para Madrid?",
		"onde está a minha encomenda",
		"procura receitas com abóbora",
		"Jaka będzie jutro pogoda?",
		"Włącz światło w kuchni",
		"Wyślij wiadomość do Anny",
		"gdzie jest moja paczka",
		"ustaw budzik na siódmą",
		"Hur blir vädret imorgon?",
		"Tänd lampan i köket",
		"Skicka ett meddelande till Anna",
		"var är mitt paket",
		"sök efter recept med pumpa",
		"Hvordan bliver vejret i morgen?",
		"Send en besked til Anna",
		"hvor er min pakke",
		"Millainen sää on huomenna?",
		"Lähetä viesti Annalle",
		"missä pakettini on",
		"Yarın hava nasıl olacak?",
		"Mutfaktaki ışığı aç",
		"paketim nerede şimdi",
		"Jaké bude zítra počasí?",
		"Rozsviť světlo v kuchyni",
		"kde je můj balík",
		"Milyen idő lesz holnap?",
		"Kapcsold fel a lámpát",
		"Cum va fi vremea mâine?",
		"unde este coletul meu",
		"Bagaimana cuaca besok pagi?",
		"nyalakan lampu dapur",
		"Thời tiết ngày mai thế nào?",
		"Reserviere einen Tisch für zwei Personen",
		"Wieviel Uhr ist es in Tokio",
		"Fasse diese E-Mail zusammen",
		"Schalte den Fernseher aus",
		"Zeig mir offene Aufgaben",
		"Réserve une table pour deux",
		"Résume ce courriel",
		"Éteins la télé",
		"Montre les tâches ouvertes",
		"quelle heure est-il à Tokyo",
		"Reserva una mesa para dos",
		"resume este correo",
		"apaga la tele",
		"muestra tareas pendientes",
		"qué hora es en Tokio",
		"prenota un tavolo per due",
		"riassumi questa email",
		"spegni la televisione",
		"che ore sono a Tokyo",
		"reserveer een tafel voor twee",
		"vat deze mail samen",
		"reserva uma mesa para dois",
		"desliga a televisão",
		"zarezerwuj stolik dla dwóch",
		"która godzina w Tokio",
		"boka ett bord för två",
		"book et bord til to",
		"varaa pöytä kahdelle",
		"iki kişilik masa ayır",
		"rezervuj stůl pro dva",
		"foglalj asztalt két főre",
		"rezervă o masă pentru doi",
		"pesan meja untuk dua orang",
		"reserva una taula per a dos",
		"rezerviraj stol za dvoje",
	} {
		if b.Reads(text) {
			t.Errorf("Reads(%q) = true", text)
		}
	}
}
